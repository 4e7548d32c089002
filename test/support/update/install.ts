// Installs and removes in a separate process, so that it can be killed: node install.js install TREE VERSION | uninstall
import { install, uninstall } from '../../../daemon/update/user/installation.ts';
import { userLayout } from '../../../daemon/update/user/layout.ts';
import { withInstallLock } from '../../../daemon/update/user/lock.ts';

const [what, tree, version] = process.argv.slice(2) as [string, string, string];
const layout = userLayout(process.env);

withInstallLock(layout, () => (what === 'install' ? install(layout, tree, version) : uninstall(layout))).catch(
  error => {
    console.error(error);
    process.exitCode = 1;
  },
);
