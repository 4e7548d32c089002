// For daemons in tests that change no kill switch.

export function noKillSwitch(): Promise<never> {
  return Promise.reject(new Error('There is no kill switch here.'));
}
