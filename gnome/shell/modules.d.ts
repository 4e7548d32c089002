// Modules of GNOME Shell, for which no types are installed.
declare module 'gi://Shell' {
  const shell: Shell.Modules['Shell'];
  export default shell;
}

declare module 'resource:///org/gnome/shell/extensions/extension.js' {
  import type Gio from 'gi://Gio';

  export class Extension {
    dir: Gio.File;
  }
}

declare module 'resource:///org/gnome/shell/ui/main.js' {
  export const notifyError: Shell.Modules['Main']['notifyError'];
  export const panel: Shell.Modules['Main']['panel'];
}

declare module 'resource:///org/gnome/shell/ui/popupMenu.js' {
  export const Ornament: Shell.Modules['PopupMenu']['Ornament'];
  export const PopupMenuItem: Shell.Modules['PopupMenu']['PopupMenuItem'];
  export const PopupSwitchMenuItem: Shell.Modules['PopupMenu']['PopupSwitchMenuItem'];
  export const PopupSeparatorMenuItem: Shell.Modules['PopupMenu']['PopupSeparatorMenuItem'];
}

declare module 'resource:///org/gnome/shell/ui/quickSettings.js' {
  export const QuickMenuToggle: Shell.Modules['QuickSettings']['QuickMenuToggle'];
  export const SystemIndicator: Shell.Modules['QuickSettings']['SystemIndicator'];
}
