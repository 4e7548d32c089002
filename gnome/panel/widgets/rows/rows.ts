// Makes the widget of each row of a form. A row shows what is confirmed; using it sends a command, and the event moves it.
import type { Row } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { buttonRow, selectRow, switchRow } from './control-rows.ts';
import { areaRow, entryRow } from './entry-row.ts';
import { type Radios, radioRow } from './radio-row.ts';
import type { AnyRowWidget } from './row-widget.ts';
import { factRow, itemRow, linkRow, noteRow, shellRow, textRow } from './text-rows.ts';

/** A widget for `row`; `show` renews it for a row of the same kind and id. */
export function createRow(row: Row, host: Host, radios: Radios): AnyRowWidget {
  const widget = createWidget(row, host, radios) as AnyRowWidget;
  widget.show(row);
  return widget;
}

function createWidget(row: Row, host: Host, radios: Radios): unknown {
  switch (row.kind) {
    case 'fact':
      return factRow(row, host);
    case 'switch':
      return switchRow(row, host);
    case 'radio':
      return radioRow(row, host, radios);
    case 'button':
      return buttonRow(row, host);
    case 'link':
      return linkRow(row, host);
    case 'item':
      return itemRow(row, host);
    case 'entry':
      return entryRow(row, host);
    case 'area':
      return areaRow(row);
    case 'select':
      return selectRow(row, host);
    case 'shell':
      return shellRow(host);
    case 'text':
      return textRow(row);
    case 'note':
      return noteRow();
  }
}
