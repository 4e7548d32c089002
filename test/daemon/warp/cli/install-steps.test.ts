// The commands that install Cloudflare WARP, by distribution.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { installCommand, installSteps } from '../../../../daemon/warp/cli/install-steps.ts';

const commandFor = (osRelease: string, architecture = 'x64') => {
  const steps = installSteps(osRelease, architecture);
  return steps && installCommand(steps);
};

test('Debian, Ubuntu and their derivatives name the release that they are made from', () => {
  const cases: [osRelease: string, codename: string][] = [
    ['ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm', 'bookworm'],
    ['ID=debian\nVERSION_CODENAME=trixie', 'trixie'],
    ['ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble', 'noble'],
    ['ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble', 'noble'],
    ['ID=linuxmint\nID_LIKE=debian\nVERSION_CODENAME=faye\nDEBIAN_CODENAME=bookworm', 'bookworm'],
  ];
  for (const [osRelease, codename] of cases) {
    const command = commandFor(osRelease);
    assert.match(command ?? '', new RegExp(`pkg\\.cloudflareclient\\.com/ ${codename} main`), osRelease);
    assert.match(command ?? '', /sudo apt-get install -y cloudflare-warp$/);
  }
});

test('Fedora, RHEL and its rebuilds, and Arch have their own commands', () => {
  for (const osRelease of ['ID=fedora\nVERSION_ID=44', 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"'])
    assert.match(commandFor(osRelease) ?? '', /cloudflare-warp-ascii\.repo[\s\S]*sudo dnf install -y cloudflare-warp$/);
  for (const osRelease of ['ID=arch', 'ID=manjaro\nID_LIKE=arch'])
    assert.match(
      commandFor(osRelease) ?? '',
      /^git clone https:\/\/aur\.archlinux\.org\/cloudflare-warp-bin\.git &&\n/,
    );
});

test('a system without packages has no command', () => {
  const cases = [
    '',
    'ID=debian\nVERSION_CODENAME=buster',
    'ID=debian', // sid has no codename of a release
    'ID=fedora\nVERSION_ID=39',
    'ID=fedora\nVERSION_ID=44\nOSTREE_VERSION=44.1',
    'ID=nixos',
    'ID=alpine',
    'ID=debian\nVERSION_CODENAME="bookworm; rm -rf ~"',
    'ID=debian\nVERSION_CODENAME=$(id)',
  ];
  for (const osRelease of cases) assert.equal(commandFor(osRelease), null, osRelease);
  assert.equal(commandFor('ID=debian\nVERSION_CODENAME=trixie', 'riscv64'), null);
});

test('a shell reads each command as it is meant', () => {
  for (const osRelease of ['ID=debian\nVERSION_CODENAME=trixie', 'ID=fedora\nVERSION_ID=44', 'ID=arch'])
    execFileSync('sh', ['-n'], { input: commandFor(osRelease)! });
});
