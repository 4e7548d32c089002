// Renders the split tunnel: its entries with a search, adding, removing, import and export.
import { useSignal } from '@preact/signals';
import type { Row } from '../../../view/form.ts';
import { formatCount } from '../../../view/format.ts';
import { searchedText } from '../../../view/forms/search/searched-rows.ts';
import {
  addRoute,
  describeRoutes,
  removal,
  resetRoutes,
  routeKindName,
  routeMatches,
} from '../../../view/forms/tunnel/split-tunnel.ts';
import { checks } from '../../../view/forms/validate.ts';
import { fill } from '../../../view/translator.ts';
import { useApp } from '../../client/app.ts';
import { addressOfPage, rowInAddress } from '../../navigation.ts';
import { CommandButton } from '../../widgets/rows/command-button.tsx';
import { FormView } from '../../widgets/rows/form.tsx';
import { SearchField } from '../../widgets/search-field.tsx';
import { VirtualList } from '../../widgets/virtual-list.tsx';
import { WhyField } from './why.tsx';

const ROW_HEIGHT = 56;

export function RoutesPage() {
  const app = useApp();
  const { client, tunnel } = app.view.value;
  const tr = app.tr.value;
  const { _, ngettext } = tr;
  const query = useSignal(searchedText(rowInAddress()));
  const routes = describeRoutes(client, tunnel.settable, tr);
  const shown = routes.entries.filter(entry => routeMatches(entry, query.value.trim()));
  const managed = routes.managed ? _('Your organization manages this list') : null;
  const why = managed && !routes.sensitive ? 'why-routes' : undefined;
  const add: Row = {
    kind: 'entry',
    id: 'add',
    title: _('Address, range or host to add'),
    label: _('Add'),
    placeholder: '192.0.2.0/24',
    check: checks(tr).route,
    sensitive: routes.sensitive,
    reason: managed,
    command: value => ({ ask: { kind: 'action', request: addRoute(value) } }),
  };
  return (
    <>
      <WhyField />
      <p>{routes.sentence}</p>
      {managed && <p id="why-routes">{managed}</p>}
      <FormView form={{ groups: [{ id: 'add', rows: [add] }] }} />
      <div class="toolbar">
        <SearchField query={query} label={_('Search routes')} />
        <span class="count" role="status">
          {fill(ngettext('%d entry', '%d entries', shown.length), formatCount(shown.length, tr))}
        </span>
      </div>
      <VirtualList items={shown} rowHeight={ROW_HEIGHT} label={_('Routes')}>
        {entry => (
          <div class="row">
            <div class="words">
              <span class="title">{entry.value}</span>
              <span class="subtitle">
                {[routeKindName(entry.kind, tr), entry.origin, entry.note].filter(Boolean).join(' · ')}
              </span>
            </div>
            {entry.removable && (
              <CommandButton
                // Translators: %s is a domain
                aria-label={fill(_('Remove %s'), entry.value)}
                command={removal(entry, tr)}
                sensitive={routes.sensitive}
              >
                {_('Remove')}
              </CommandButton>
            )}
          </div>
        )}
      </VirtualList>
      <div class="toolbar">
        <a class="button" href={addressOfPage('editor')}>
          {_('Edit as Text')}
        </a>
        {(['addresses', 'hosts'] as const).map(part => (
          <CommandButton
            key={part}
            class="destructive"
            aria-describedby={why}
            command={resetRoutes(part, tr)}
            sensitive={routes.sensitive}
          >
            {part === 'addresses' ? _('Reset Addresses') : _('Reset Hosts')}
          </CommandButton>
        ))}
      </div>
    </>
  );
}
