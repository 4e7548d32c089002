// Checks the clock: certificates and sign-ins are valid for a time only.
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok } from '../../check.ts';

/** systemd-timesyncd makes the directory, and touches the file at each synchronization (systemd-timesyncd(8)). */
const DIRECTORY = '/run/systemd/timesync';

export const clock: Check = {
  id: 'clock',
  title: N_('Clock of this machine'),
  group: 'service',
  source: 'https://www.freedesktop.org/software/systemd/man/latest/systemd-timesyncd.service.html',
  cheap: true,
  async probe({ files }) {
    if ((await files.stat(DIRECTORY)) === null) return notApplicable(message('systemd-timesyncd does not run.'));
    const synchronized = await files.stat(`${DIRECTORY}/synchronized`);
    if (synchronized) return ok(message('synchronized by systemd-timesyncd'));
    return notice(
      [message('systemd-timesyncd is running, but has not synchronized the clock since this machine started')],
      message('If the clock is wrong, registration, sign-in and the tunnel fail. Compare the time with another clock.'),
    );
  },
};
