// Adds the icons of the further pages.
import account from '../../../data/icons/panel/culvert-account-symbolic.svg';
import apps from '../../../data/icons/panel/culvert-apps-symbolic.svg';
import certificate from '../../../data/icons/panel/culvert-certificate-symbolic.svg';
import checks from '../../../data/icons/panel/culvert-checks-symbolic.svg';
import consoleIcon from '../../../data/icons/panel/culvert-console-symbolic.svg';
import graph from '../../../data/icons/panel/culvert-graph-symbolic.svg';
import killSwitch from '../../../data/icons/panel/culvert-killswitch-symbolic.svg';
import mobile from '../../../data/icons/panel/culvert-mobile-symbolic.svg';
import networks from '../../../data/icons/panel/culvert-networks-symbolic.svg';
import noNetwork from '../../../data/icons/panel/culvert-no-network-symbolic.svg';
import updates from '../../../data/icons/panel/culvert-updates-symbolic.svg';
import wired from '../../../data/icons/panel/culvert-wired-symbolic.svg';
import { ICONS } from '../widgets/icon.tsx';

const FURTHER = [
  ['culvert-account-symbolic', account],
  ['culvert-apps-symbolic', apps],
  ['culvert-certificate-symbolic', certificate],
  ['culvert-checks-symbolic', checks],
  ['culvert-console-symbolic', consoleIcon],
  ['culvert-graph-symbolic', graph],
  ['culvert-killswitch-symbolic', killSwitch],
  ['culvert-mobile-symbolic', mobile],
  ['culvert-networks-symbolic', networks],
  ['culvert-no-network-symbolic', noNetwork],
  ['culvert-updates-symbolic', updates],
  ['culvert-wired-symbolic', wired],
] as const;

for (const [name, paths] of FURTHER) ICONS.set(name, paths);
