// Installing and removing in a process of its own, so that it can be killed: node install.js install TREE VERSION | uninstall
import { install, locked, uninstall } from '../../../daemon/update/installation.ts';
import { placesOf } from '../../../daemon/update/places.ts';

const [what, tree, version] = process.argv.slice(2) as [string, string, string];
const places = placesOf(process.env);

locked(places, () => (what === 'install' ? install(places, tree, version) : uninstall(places))).catch(error => {
  console.error(error);
  process.exitCode = 1;
});
