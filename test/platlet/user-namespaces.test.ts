// The cases of upstream's pkg/kubelet/userns/userns_manager_test.go and kubelet_pods_linux_test.go.

import {join} from 'node:path';
import test from 'ava';
import type {RuntimeHandler} from '#src/platlet/runtime/runtime.js';
import {checkIdRange, idRangeOf, parseSubordinateIds, type IdRange} from '#src/platlet/user-namespaces/id-range.js';
import {mappingOf, mappingsText} from '#src/platlet/user-namespaces/mappings-file.js';
import {UserNamespaces} from '#src/platlet/user-namespaces/user-namespaces.js';
import {folderHost, put, textOf, type FolderHost} from './host.js';
import {aPod} from './pod/objects.js';

const unit = 65_536;

const outputs: [output: string, expected: IdRange | string][] = [
  ['0: platlet 65536 2147483648\n', {first: 65_536, length: 2_147_483_648}],
  [
    '0: platlet 65536 100\n1: platlet 1 2\n',
    'error parsing line "0: platlet 65536 100\\n1: platlet 1 2\\n": it must contain only one line',
  ],
  ['0: platlet 65536\n', 'invalid line "0: platlet 65536"'],
  ['0: platlet 65536 x\n', 'error parsing line "0: platlet 65536 x": invalid number "x"'],
  ['0: platlet 4294967296 1\n', 'error parsing line "0: platlet 4294967296 1": invalid number "4294967296"'],
];

for (const [output, expected] of outputs)
  test(`subordinate ids are read of ${JSON.stringify(output)}`, t => {
    if (typeof expected === 'string') t.throws(() => parseSubordinateIds(output), {message: expected});
    else t.deepEqual(parseSubordinateIds(output), expected);
  });

const all = 2 ** 32;
const ranges: [title: string, range: IdRange, idsPerPod: number, problem: string | undefined][] = [
  ['all ids', {first: unit, length: all - unit}, unit, undefined],
  ['larger units', {first: 2 * unit, length: 220 * unit}, 2 * unit, undefined],
  ['a length that is no unit', {first: unit, length: all - unit}, unit + 1, 'agent user namespace length 65537 is not a multiple of 65536'],
  ['a start between units', {first: unit + 1, length: 200 * unit}, unit, 'agent user assigned ID 65537 is not a multiple of 65536'],
  ['the ids of the host', {first: 0, length: 200 * unit}, unit, 'agent user assigned ID 0 must be greater or equal to 65536'],
  ['a part of a unit', {first: unit, length: 200 * unit + 1}, unit, 'agent user assigned IDs length 13107201 is not a multiple of 65536'],
  ['too few', {first: unit, length: 109 * unit}, unit, 'agent user assigned IDs are not enough to support 110 pods'],
];

for (const [title, range, idsPerPod, problem] of ranges)
  test(`ids for user namespaces: ${title}`, t => {
    if (problem) t.throws(() => checkIdRange(range, idsPerPod, 110, 'agent'), {message: problem});
    else t.notThrows(() => checkIdRange(range, idsPerPod, 110, 'agent'));
  });

const machines: [
  title: string,
  users: string,
  answers: readonly (readonly [code: number, output: string])[],
  expected: IdRange | string,
][] = [
  ['without the user', 'root:x:0\n', [], {first: unit, length: all - unit}],
  ['without the program', 'platlet:x:9\n', [], {first: unit, length: all - unit}],
  [
    'with ids',
    'platlet:x:9\n',
    [
      [0, '0: platlet 131072 6553600'],
      [0, '0: platlet 131072 6553600'],
    ],
    {first: 131_072, length: 6_553_600},
  ],
  ['without ids', 'platlet:x:9\n', [[1, '']], 'error retrieving additional uids for user "platlet": exit status 1'],
  [
    'without ids of groups',
    'platlet:x:9\n',
    [
      [0, ''],
      [1, ''],
    ],
    'error retrieving additional gids for user "platlet"',
  ],
  [
    'with others for groups',
    'platlet:x:9\n',
    [
      [0, 'a'],
      [0, 'b'],
    ],
    'mismatched subuids and subgids for user "platlet"',
  ],
];

for (const [title, users, answers, expected] of machines)
  test(`the ids of the agent's user on a machine ${title}`, async t => {
    const left = [...answers];
    const host = {
      read: async () => Buffer.from(users),
      async execute() {
        const [exitCode, output] = left.shift() ?? [];
        return exitCode === undefined ? undefined : {exitCode, output: output!};
      },
    };
    const range = idRangeOf(host, 'platlet', unit);
    if (typeof expected === 'string') await t.throwsAsync(range, {message: expected});
    else t.deepEqual(await range, expected);
  });

const map = (hostId: number, containerId = 0) => ({hostId, containerId, length: unit});
const files: [title: string, content: object | string, problem: string][] = [
  ['no JSON', '{', 'invalid user namespace mappings file: '],
  ['no mapping', {uidMappings: [], gidMappings: []}, 'invalid user namespace configuration: no more than one mapping allowed.'],
  ['two', {uidMappings: [map(unit), map(2 * unit)], gidMappings: [map(unit)]}, 'invalid user namespace configuration: no more than one'],
  ['none for groups', {uidMappings: [map(unit)]}, 'invalid user namespace configuration: GID and UID mappings should be identical.'],
  [
    'others for groups',
    {uidMappings: [map(unit)], gidMappings: [map(2 * unit)]},
    'invalid user namespace configuration: GID and UID mapping',
  ],
  ['no root', {uidMappings: [map(unit, 1)], gidMappings: [map(unit, 1)]}, 'invalid user namespace configuration: UID 0 must be mapped'],
];

for (const [title, content, problem] of files)
  test(`a file of mappings is refused: ${title}`, t => {
    const error = t.throws(() => mappingOf(typeof content === 'string' ? content : JSON.stringify(content)));
    t.true(error.message.startsWith(problem), error.message);
  });

const handlers: RuntimeHandler[] = [
  {name: '', recursiveReadOnlyMounts: false, userNamespaces: true},
  {name: 'old', recursiveReadOnlyMounts: false, userNamespaces: false},
];
const opened = (host: FolderHost, range = {first: unit, length: 3 * unit}, of: readonly RuntimeHandler[] | undefined = handlers) =>
  UserNamespaces.open({host, folders: host.folders, range, idsPerPod: unit, handlers: () => of});
const pod = (uid: string) => aPod({hostUsers: false}, {uid});
const path = (host: FolderHost, uid: string): string => join(host.folders.pod(uid), 'userns');

test('pods have ids of their own, which are kept in their folders across restarts', async t => {
  using host = folderHost();
  const first = await opened(host);
  t.is(await first.of(aPod({}, {uid: 'a'}), ''), undefined);
  t.is(await first.of(aPod({hostUsers: true}, {uid: 'a'}), ''), undefined);
  t.deepEqual(await first.of(pod('a'), ''), map(unit));
  t.deepEqual(await first.of(pod('a'), ''), map(unit));
  t.is(await textOf(host, path(host, 'a')), mappingsText(map(unit)));
  t.deepEqual(await first.of(pod('b'), ''), map(2 * unit));

  const second = await opened(host);
  t.deepEqual(await second.of(pod('c'), ''), map(3 * unit));
  t.deepEqual(await second.of(pod('b'), ''), map(2 * unit));
  await t.throwsAsync(second.of(pod('d'), ''), {
    message: 'create user namespace: could not find an empty slot to allocate a user namespace',
  });
  await second.release('b');
  t.is(await textOf(host, path(host, 'b')), undefined);
  t.deepEqual(await second.of(pod('d'), ''), map(2 * unit));
});

const former: [title: string, own: string, problem: string][] = [
  ['other lengths', mappingsText({...map(unit), length: 1}), 'wrong user namespace length 1'],
  ['a start between', mappingsText(map(unit + 1)), 'wrong user namespace offset specified 65537'],
  ['too high ids', mappingsText(map(4 * unit)), 'id 262144 is out of range'],
  ['the ids of another', mappingsText(map(2 * unit)), 'range picked for pod "b" already taken'],
];

for (const [title, text, problem] of former)
  test(`an agent does not start on ${title} of a former one`, async t => {
    using host = folderHost();
    await put(host, path(host, 'a'), mappingsText(map(2 * unit)));
    await put(host, path(host, 'b'), text);
    await t.throwsAsync(opened(host), {message: `record pod mappings for existing pod "b": ${problem}`});
  });

const what = "can't set `spec.hostUsers: false`,";
const able: [of: readonly RuntimeHandler[] | undefined, handler: string, problem: string][] = [
  [undefined, '', `${what} runtime does not support user namespaces`],
  [handlers, 'old', `${what} RuntimeClass handler "old" does not support user namespaces`],
  [handlers, 'new', `${what} RuntimeClass handler "new" does not support user namespaces: the handler "new" is not known`],
];

for (const [of, handler, problem] of able)
  test(`user namespaces need their handler ${JSON.stringify(handler)} of ${of?.length ?? 'no'} handlers to support them`, async t => {
    using host = folderHost();
    const users = await opened(host, undefined, of ?? []);
    await t.throwsAsync(users.of(pod('a'), handler), {message: problem});
  });
