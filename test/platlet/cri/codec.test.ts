import test from 'ava';
import {
  bytes,
  flag,
  int,
  ints,
  repeated,
  map,
  message,
  nested,
  oneOf,
  text,
  texts,
  time,
  wrappedInt,
  wrappedLong,
} from '#src/platlet/rpc/codec.js';
import {sandboxMessage} from '#src/platlet/cri/configs.js';
import {procedures} from '#src/platlet/cri/procedures.js';
import type {UserNamespace} from '#src/platlet/runtime/configs.js';

const inner = message({name: text(1)});
const all = message({
  name: text(1),
  size: int(2),
  isOn: flag(3),
  at: time(4),
  list: texts(5),
  numbers: ints(6),
  labels: map(7),
  part: nested(inner)(8),
  parts: repeated(inner)(9),
  user: wrappedInt(10),
  counter: wrappedLong(11),
  state: oneOf('zero', 'one', 'two')(12),
  content: bytes(18),
});

/** The bytes as another encoder (protoc) writes them. */
const known: readonly [string, string, Parameters<typeof all.encode>[0]][] = [
  ['a text', '0a03c3a461', {name: 'äa'}],
  ['an integer of several bytes', '10ac02', {size: 300}],
  ['a negative integer', '10ffffffffffffffffff01', {size: -1}],
  ['a flag', '1801', {isOn: true}],
  ['a time', '20c0a9fbebe39fe7cb17', {at: 1_700_000_000_123}],
  ['a list of texts, empty ones too', '2a01612a00', {list: ['a', '']}],
  ['packed integers', '32028f4e', {numbers: [9999]}],
  ['a map', '3a060a016b120176', {labels: {k: 'v'}}],
  ['an empty message', '4200', {part: {}}],
  ['several messages', '4a030a01614a00', {parts: [{name: 'a'}, {}]}],
  ['a wrapped zero', '5200', {user: 0}],
  ['a wrapped counter beyond 2^53', '5a0a08ffffffffffffffff7f', {counter: 2n ** 63n - 1n}],
  ['a name of an enumeration', '6002', {state: 'two'}],
  ['a field with a number above 15', '92010161', {content: Buffer.from('a')}],
];
for (const [title, hex, value] of known)
  test(`${title} is written as other encoders do, and read again`, t => {
    const written = all.encode(value);
    t.is(written.toString('hex'), hex);
    t.is(all.encode(all.decode(written)).toString('hex'), hex);
    if (!('part' in value || 'parts' in value)) t.like(all.decode(written), value as object);
  });

test('what is absent is the zero of its type, and differs from a wrapped zero', t => {
  const value = all.decode(Buffer.alloc(0));
  t.deepEqual(value, {
    name: '',
    size: 0,
    isOn: false,
    at: undefined,
    list: [],
    numbers: [],
    labels: Object.create(null) as Record<string, string>,
    part: undefined,
    parts: [],
    user: undefined,
    counter: undefined,
    state: 'zero',
    content: Buffer.alloc(0),
  });
  t.is(all.encode(value).length, 0);
  t.is(all.decode(all.encode({user: 0})).user, 0);
});

test('unknown fields are skipped, integers may come unpacked, and values beyond an enumeration are its last', t => {
  const unknown = ['9a0603616263', '9d0601020304', 'a00605', 'a9060102030405060708'].join('');
  t.is(all.decode(Buffer.from(`${unknown}0a0161${unknown}`, 'hex')).name, 'a');
  t.deepEqual(all.decode(Buffer.from('30013002', 'hex')).numbers, [1, 2]);
  t.is(all.decode(Buffer.from('6009', 'hex')).state, 'two');
});

test('a message that is cut off, or has fields of another type, is refused', t => {
  for (const hex of ['0a', '0a0561', '10', '0801', '4a050a0161', '12016f'])
    t.throws(() => all.decode(Buffer.from(hex, 'hex')), {name: 'DecodeError'}, hex);
});

test('a time keeps its milliseconds', t => {
  for (const at of [1, 1_700_000_000_000, 1_700_000_000_123, 1_764_187_749_999]) t.is(all.decode(all.encode({at})).at, at);
});

test('a request to run a sandbox is the message that runtimes know', t => {
  const {request} = procedures.runPodSandbox;
  const written = request.encode({
    config: {
      metadata: {name: 'p', uid: 'u', namespace: 'n', attempt: 1},
      portMappings: [{protocol: 'UDP', containerPort: 53, hostPort: 0, hostIp: ''}],
      linux: {
        securityContext: {namespaceOptions: {network: 'node', pid: 'container', ipc: 'pod'}, runAsUser: 0, supplementalGroups: [5, 6]},
      },
    },
    runtimeHandler: 'runc',
  });
  const metadata = ['0a0b', '0a0170', '120175', '1a016e', '2001'].join('');
  const ports = ['2a04', '0801', '1035'].join('');
  const security = ['120c', '0a04', '0802', '1001', '1a00', '2a020506'].join('');
  const linux = `420e${security}`;
  const config = metadata + ports + linux;
  t.is(written.toString('hex'), `0a${(config.length / 2).toString(16)}${config}120472756e63`);
});

test('a sandbox says which users it has only where user namespaces are supported', t => {
  const messageOf = (users?: UserNamespace) =>
    sandboxMessage({
      pod: {name: 'p', namespace: 'n', uid: 'u'},
      attempt: 0,
      hostname: '',
      logDirectory: '',
      portMappings: [],
      labels: {},
      annotations: {},
      cgroupParent: '',
      sysctls: {},
      security: {
        namespaces: {network: 'pod', pid: 'container', ipc: 'pod', ...(users ? {users} : {})},
        supplementalGroups: [],
        privileged: false,
      },
    });
  const {request} = procedures.runPodSandbox;
  const usersOf = (users?: UserNamespace) =>
    request.decode(request.encode({config: messageOf(users)})).config?.linux?.securityContext?.namespaceOptions?.usernsOptions;
  t.is(usersOf(), undefined);
  t.deepEqual(usersOf('node'), {mode: 'node', uids: [], gids: []});
  const mapping = {hostId: 65_536, containerId: 0, length: 65_536};
  t.deepEqual(usersOf(mapping), {mode: 'pod', uids: [mapping], gids: [mapping]});
});

test('the numbers of signals are those of the interface', t => {
  const {request} = procedures.createContainer;
  const numberOf = (stopSignal: string): number | undefined => request.encode({config: {stopSignal}}).at(-1);
  t.deepEqual(
    ['SIGKILL', 'SIGTERM', 'SIGXFSZ', 'SIGRTMIN', 'SIGRTMINPLUS15', 'SIGRTMAXMINUS14', 'SIGRTMAXMINUS1', 'SIGRTMAX'].map(numberOf),
    [13, 23, 34, 35, 50, 51, 64, 65],
  );
});
