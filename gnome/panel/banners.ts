// The banners over the pages: what is lost, what blocks, what is new, and what is wrong in the configuration.
import type Gtk from 'gi://Gtk?version=4.0';
import { _, words } from '../i18n.ts';
import { killSwitchBanner } from '../killswitch-view.ts';
import { describeUpdate } from '../update-view.ts';
import { configWord, describe, lossWord } from '../view.ts';
import { createBanner } from './compat.ts';
import type { Shell } from './shell.ts';

declare const __VERSION__: string;

/** What the banners' buttons ask for beyond the shell. */
export interface BannerAsks {
  startDaemon(): void;
  applyUpdate(): void;
  showUpdateCommand(): void;
}

export function createBanners(shell: Shell, asks: BannerAsks): { widgets: Gtk.Widget[]; refreshState(): void } {
  const [lost, demo, killSwitch, update, config] = [1, 2, 3, 4, 5].map(createBanner) as [
    Banner,
    Banner,
    Banner,
    Banner,
    Banner,
  ];
  for (const { widget } of [demo, killSwitch, config]) widget.add_css_class('caution');

  return {
    widgets: [lost, demo, killSwitch, update, config].map(({ widget }) => widget),
    refreshState() {
      const facts = shell.model.facts();
      const view = describe(facts, words);
      lost.show(lossWord(facts.loss, words), { label: _('Start'), activate: () => asks.startDaemon() });
      demo.show(view.emulated ? _('Demo: emulated tunnel, nothing is protected') : null);
      config.show(configWord(facts.config, words));

      const blocking = killSwitchBanner(facts, view.look, words);
      const { allowLan = false } = facts.snapshot?.killSwitch ?? {};
      killSwitch.show(
        blocking?.title ?? null,
        blocking?.button && {
          label: blocking.button.label,
          activate() {
            if (blocking.button?.asks === 'connect') void shell.perform('connect');
            else shell.model.changeKillSwitch({ enabled: false, allowLan }).catch(error => shell.complain(error));
          },
        },
      );

      const { banner } = describeUpdate(facts.loss ? null : facts.update, facts.config, __VERSION__, words);
      const button = {
        apply: { label: _('Update'), activate: () => asks.applyUpdate() },
        how: { label: _('How'), activate: () => asks.showUpdateCommand() },
      };
      update.show(banner?.title ?? null, banner?.button && button[banner.button]);
    },
  };
}

type Banner = ReturnType<typeof createBanner>;
