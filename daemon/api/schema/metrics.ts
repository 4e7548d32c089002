// Names the media type of metrics, apart from the contract, which is loaded later than what answers them.

/** OpenMetrics 1.0. */
export const METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
