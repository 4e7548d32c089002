// Holds the titles of the pages, in panel and web page.
import type { PageName } from './form.ts';
import type { Translator } from './translator.ts';

/** @returns the translated title, as headings and navigation show it */
export function pageTitle(page: PageName, { _ }: Translator): string {
  const titles: Record<PageName, string> = {
    connection: _('Connection'),
    apps: _('Apps'),
    settings: _('Settings'),
    mode: _('Mode'),
    killswitch: _('Kill Switch'),
    routes: _('Routes'),
    editor: _('Edit as Text'),
    dns: _('DNS'),
    networks: _('Networks'),
    account: _('Account'),
    advanced: _('Server and Proxy'),
    tools: _('Tool Accounts'),
    certificate: _('Organization Certificate'),
    history: _('History'),
    checks: _('Checks'),
    log: _('Log'),
    preferences: _('App'),
    updates: _('Updates'),
    welcome: _('First Steps'),
  };
  return titles[page];
}
