// Installs and removes in a separate process, so that it can be killed: node install.js install TREE VERSION | uninstall
import { install, uninstall, withInstallLock } from '../../../daemon/update/installation.ts';
import { userLayout } from '../../../daemon/update/user-layout.ts';

const [what, tree, version] = process.argv.slice(2) as [string, string, string];
const layout = userLayout(process.env);

withInstallLock(layout, () => (what === 'install' ? install(layout, tree, version) : uninstall(layout))).catch(
  error => {
    console.error(error);
    process.exitCode = 1;
  },
);
