// The parts of GNOME Shell that the tile uses, the same from 43 on unless it says otherwise.
type Handler = (...args: never[]) => void;

declare namespace Shell {
  interface Emitter {
    connect(signal: string, handler: Handler): number;
    disconnect(id: number): void;
  }

  interface Actor extends Emitter {
    destroy(): void;
    visible: boolean;
  }

  interface Icon extends Actor {
    gicon: import('gi://Gio').default.Icon;
  }

  interface MenuItem extends Actor {
    setOrnament(ornament: number): void;
    setSensitive(sensitive: boolean): void;
    grab_key_focus(): void;
    has_key_focus(): boolean;
  }

  interface Menu extends Emitter {
    isOpen: boolean;
    open(): void;
    destroy(): void;
    removeAll(): void;
    addMenuItem(item: MenuItem): void;
    setHeader(icon: import('gi://Gio').default.Icon, title: string, subtitle: string): void;
  }

  interface Toggle extends Actor {
    menu: Menu;
    checked: boolean;
    gicon: import('gi://Gio').default.Icon;
    accessible_name: string;
    /** Since 44. */
    title: string;
    /** Since 44. */
    subtitle: string;
    /** Text of the tile in 43. */
    label: string;
  }

  interface Indicator extends Actor {
    quickSettingsItems: Toggle[];
    _addIndicator(): Icon;
  }

  interface QuickSettings {
    menu: Menu;
    /** Since 45. */
    addExternalIndicator(indicator: Indicator): void;
    _indicators: { insert_child_at_index(child: Indicator, index: number): void };
    _addItems(items: Toggle[]): void;
  }

  interface Modules {
    Main: {
      notifyError(title: string, text: string): void;
      panel: {
        closeQuickSettings(): void;
        statusArea: { quickSettings: QuickSettings; dateMenu?: { _clock?: Emitter } };
      };
    };
    PopupMenu: {
      Ornament: { NONE: number; CHECK: number };
      PopupMenuItem: new (text: string, params?: object) => MenuItem;
      PopupSwitchMenuItem: new (text: string, on: boolean) => MenuItem;
      PopupSeparatorMenuItem: new (text?: string) => MenuItem;
    };
    QuickSettings: {
      QuickMenuToggle: new (params: object) => Toggle;
      SystemIndicator: new () => Indicator;
    };
    Gio: typeof import('gi://Gio').default;
    GLib: typeof import('gi://GLib').default;
    Shell: {
      AppSystem: { get_default(): { lookup_app(id: string): { app_info: import('gi://Gio').default.AppInfo } | null } };
    };
    Gettext: { bindtextdomain(domain: string, directory: string): void; domain(domain: string): Texts };
    global: {
      create_app_launch_context(time: number, workspace: number): import('gi://Gio').default.AppLaunchContext;
    };
  }

  interface Texts {
    gettext(text: string): string;
    ngettext(one: string, many: string, n: number): string;
  }
}
