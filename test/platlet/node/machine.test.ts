import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {MountPoint} from '#src/platlet/host/host.js';
import {shareFolder} from '#src/platlet/host/shared-folder.js';
import {OomMessages, type OomVictim} from '#src/platlet/oom-watch/messages.js';
import {watchOom} from '#src/platlet/oom-watch/watch.js';
import {folderHost} from '#test/platlet/host.js';

const first = '4,1,1,-;java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999\n';
const ofAll =
  '6,2,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a,task=java,pid=7,uid=0\n SUBSYSTEM=x\n';
const ofGroup =
  '6,2,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=b,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=my app,pid=12,uid=0\n';
const killed = '3,3,3,-;Out of memory: Killed process 7 (java) total-vm:100kB, anon-rss:50kB\n';
const older = '6,2,2,-;Task in /kubepods/pod1/c killed as a result of limit of /kubepods/pod1\n';
const other = '6,9,9,-;eth0: link up\n';

const rows: [what: string, records: string[], victims: OomVictim[]][] = [
  ['the machine', [other, first, other, ofAll, killed], [{process: 'java', pid: 7, isSystem: true}]],
  ['a group', [first, ofGroup, killed], [{process: 'my app', pid: 12, isSystem: false}]],
  ['a group of an older kernel', [first, older, killed], [{process: 'java', pid: 7, isSystem: false}]],
  ['nothing', [ofAll, killed, ofGroup, other], []],
  [
    'a group and then the machine',
    [first, ofGroup, first, killed],
    [
      {process: 'my app', pid: 12, isSystem: false},
      {process: 'java', pid: 7, isSystem: true},
    ],
  ],
];

for (const [what, records, victims] of rows)
  test(`the kernel says which process it has killed: ${what} was out of memory`, t => {
    const messages = new OomMessages();
    t.deepEqual(
      records.flatMap(record => messages.read(record) ?? []),
      victims,
    );
  });

test('a process that is killed because the machine is out of memory is an event of the Node', async t => {
  using host = folderHost();
  const clock = new VirtualClock();
  const stop = new AbortController();
  const events: string[] = [];
  const record = (_: object, reason: string, message: string) => void events.push(`${reason}: ${message}`);
  const kernelLog = await host.openKernelLog();
  const parts = {kernelLog, clock, log: noLog, node: {kind: 'Node'}, events: {normal() {}, warning: record}, signal: stop.signal};
  watchOom(parts);
  host.kernelMessages.push(first, ofGroup, first, killed);
  await clock.advance(1_000);
  t.deepEqual(events, ['SystemOOM: System OOM encountered, victim process: java, pid: 7']);
  stop.abort();
});

const mount = (path: string, isShared: boolean): MountPoint => ({
  path,
  type: 'ext4',
  root: '/',
  device: '8:1',
  source: '/dev/a',
  options: [],
  isShared,
});

test('the folder of the agent becomes a mount that passes others on, unless it is on one', async t => {
  for (const [mounts, isMade] of [
    [[['/', true]], false],
    [[['/', false]], true],
    [
      [
        ['/', true],
        ['ROOT', false],
      ],
      true,
    ],
    [
      [
        ['/', false],
        ['ROOT', true],
      ],
      false,
    ],
    [
      [
        ['/', false],
        ['ROOT', false],
        ['ROOT', true],
      ],
      false,
    ],
    [
      [
        ['/', true],
        ['ROOTX', false],
      ],
      false,
    ],
  ] as [[string, boolean][], boolean][]) {
    using host = folderHost();
    host.mounted.push(...mounts.map(([path, isShared]) => mount(path.replace('ROOT', host.root), isShared)));
    const folder = await shareFolder(host, host.root);
    t.is(host.mounted.length, mounts.length + (isMade ? 1 : 0), JSON.stringify(mounts));
    await folder[Symbol.asyncDispose]();
    t.is(host.mounted.length, mounts.length);
  }
});

test('a folder in which something is mounted stays a mount', async t => {
  using host = folderHost();
  host.mounted.push(mount('/', false));
  const folder = await shareFolder(host, host.root);
  host.mounted.push(mount(join(host.root, 'pods/1/volumes/v'), true));
  await folder[Symbol.asyncDispose]();
  t.is(host.mounted.length, 3);
});
