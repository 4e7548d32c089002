// Names the media type of metrics. The server answers them before it loads the contract.

/** OpenMetrics 1.0. */
export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
