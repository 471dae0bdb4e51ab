import {EventEmitter} from 'node:events';
import test from 'ava';
import {clipped, columnsOf, printable} from '#src/base/text/printable.js';
import {controllersOf, controllerMetrics, type ControllerState} from '#src/observe/controller-states.js';
import {parseMetrics} from '#src/observe/metrics-text.js';
import {requestCounts, requestMetrics, requestRates} from '#src/observe/request-rates.js';
import {linesOf, nextOrder, sorted, type Size} from '#src/cli/top/screen.js';
import {Terminal} from '#src/cli/top/terminal.js';
import type {Reading} from '#src/cli/top/reading.js';
import {jsonOf, type View} from '#src/cli/top/view.js';

const now = Date.parse('2026-01-01T00:10:00Z');

const controller = (name: string, of: Partial<ControllerState> = {}): ControllerState => ({
  name,
  depth: 0,
  adds: 0,
  retries: 0,
  errors: 0,
  waits: Number.NaN,
  works: Number.NaN,
  worksMost: Number.NaN,
  ...of,
});

const controllers = [
  controller('job', {adds: 12, waits: 0.0005, works: 0.002, worksMost: 0.02}),
  controller('namespace'),
  controller('deployment', {adds: 40, retries: 2, waits: 0.001, works: 0.004, worksMost: 0.3}),
  controller('replicaset', {depth: 7, adds: 80, errors: 1, waits: 0.2, works: 0.01, worksMost: 1.5}),
];

const reading: Reading = {
  version: {value: 'v1.35.0'},
  nodes: {
    value: [
      ['Ready', 3],
      ['NotReady', 1],
    ],
  },
  pods: {
    value: [
      ['Running', 90],
      ['Pending', 9],
      ['CrashLoopBackOff', 1],
    ],
  },
  requests: {value: {atMs: 2000, reads: 0, writes: 0, refused: 0, latencies: [], inflight: 2, watches: 31}},
  controllers: {value: controllers},
  events: {
    value: [
      {type: 'Warning', at: now - 30_000, reason: 'BackOff', object: 'Pod default/\x1b[2Jweb', message: 'again\nand again', count: 4},
      {type: 'Normal', at: now - 5000, reason: 'Scheduled', object: 'Pod default/web', message: 'on node-1', count: 1},
    ],
  },
};

const view: View = {
  server: 'https://127.0.0.1:6443',
  now,
  reading,
  rates: {reads: 12.34, writes: 3, refused: 0, latencyMost: 0.012},
  sort: 'queue',
  isPaused: false,
};

const texts = (size?: Size, of: View = view): string[] => linesOf(of, size).map(({text}) => text);

test('a screen of 80 by 24 shows all parts, its rows full and none longer', t => {
  const lines = texts({columns: 80, rows: 24});

  t.deepEqual(lines, [
    'plat top  https://127.0.0.1:6443  v1.35.0  2026-01-01T00:10:00Z',
    '',
    'Nodes     4  3 Ready  1 NotReady',
    `Pods      100     ${'█'.repeat(56)}${'▓'.repeat(5)}▒`,
    '          █ 90 Running  ▓ 9 Pending  ▒ 1 CrashLoopBackOff',
    'Requests  12 read/s  3.0 written/s  0.0 refused/s  99% within 12ms  2 in flight',
    '',
    'CONTROLLERS by queue  QUEUE  ADDED  RETRIES   WAIT  WORK 99%',
    'replicaset                7     80        0  200ms      1.5s',
    'deployment                0     40        2    1ms     300ms',
    'job                       0     12        0  0.5ms      20ms',
    'namespace                 0      0        0      -         -',
    '',
    'EVENTS, warnings first',
    String.raw`30s    Warning BackOff Pod default/\x1b[2Jweb: again\nand again (x4)`,
    '5s     Normal  Scheduled Pod default/web: on node-1',
    ...Array.from({length: 7}, () => ''),
    'q quit  p pause  s sort',
  ]);
});

test('a small screen shows less of each part, and a large one more columns', t => {
  const small = texts({columns: 40, rows: 10});
  const large = texts({columns: 120, rows: 40});

  t.deepEqual(small, [
    'plat top  https://127.0.0.1:6443',
    'Nodes     4  3 Ready  1 NotReady',
    'Pods      100  90 Running  9 Pending',
    'Requests  12 read/s  3.0 written/s',
    'CONTROLLERS by queue  QUEUE  RETRIES',
    'replicaset                7        0',
    'deployment                0        2',
    'EVENTS, warnings first',
    String.raw`30s    Warning BackOff Pod default/\x1b…`,
    'q quit  p pause  s sort',
  ]);
  t.is(large.length, 40);
  t.true(large.includes('CONTROLLERS by queue  QUEUE  ADDED  RETRIES  ERRORS   WAIT  WORK  WORK 99%'));
});

test('no line is wider than any screen, and there are as many as it has rows', t => {
  const events = {
    value: Array.from({length: 100}, () => ({
      ...reading.events,
      type: 'Warning',
      at: now,
      reason: '界',
      object: '界'.repeat(90),
      message: 'm',
      count: 1,
    })),
  };
  const many = {...view, reading: {...reading, events}};

  for (const size of [
    [80, 24],
    [40, 10],
    [120, 40],
    [9, 3],
    [1, 1],
  ].map(([columns = 0, rows = 0]) => ({columns, rows}))) {
    const lines = texts(size, many);
    t.is(lines.length, size.rows);
    t.deepEqual(
      lines.filter(line => columnsOf(line) > size.columns),
      [],
    );
  }
});

test('a part that could not be read says why in its place, and is null as JSON', t => {
  const missing = {missing: 'you may not list pods'};
  const partial = {...view, reading: {...reading, pods: missing, events: {missing: 'cannot list events: \x07'}}};

  const lines = texts(undefined, partial);
  const json = jsonOf(partial) as {readonly nodes: object; readonly pods: object; readonly missing: object};

  t.true(lines.includes('Pods      you may not list pods'));
  t.true(lines.includes(String.raw`Events    cannot list events: \x07`));
  t.deepEqual([json.nodes, json.pods], [{Ready: 3, NotReady: 1}, null]);
  t.deepEqual(json.missing, {pods: 'you may not list pods', events: 'cannot list events: \x07'});
});

test('controllers are sorted by what waits, by work, by retries or by name, in turn', t => {
  const names = (by: Parameters<typeof sorted>[1]): string =>
    sorted(controllers, by)
      .map(({name}) => name)
      .join(' ');

  t.is(names('queue'), 'replicaset deployment job namespace');
  t.is(names('work'), 'replicaset deployment job namespace');
  t.is(names('retries'), 'deployment replicaset job namespace');
  t.is(names('name'), 'deployment job namespace replicaset');
  t.deepEqual(
    ['queue', 'work', 'retries', 'name'].map(order => nextOrder(order as 'queue')),
    ['work', 'retries', 'name', 'queue'],
  );
});

const scrape = (gets: number, refused: number, fast: number, slow: number): string => `# TYPE apiserver_request_total counter
apiserver_request_total{verb="GET",code="200",note="a \\"}, {b"} ${gets}
apiserver_request_total{verb="POST",code="409"} ${refused}
apiserver_request_sli_duration_seconds_bucket{verb="GET",le="0.1"} ${fast}
apiserver_request_sli_duration_seconds_bucket{verb="GET",le="+Inf"} ${fast + slow}
apiserver_request_sli_duration_seconds_bucket{verb="WATCH",le="+Inf"} 1000
apiserver_current_inflight_requests 3
workqueue_depth{name="job \\\\ \\n"} 5 1700000000000
workqueue_adds_total{name="job \\\\ \\n"} 1e+2
`;

test('rates come from two readings of the metrics', t => {
  const wanted = new Set(requestMetrics);
  const [before, after] = [scrape(100, 4, 10, 0), scrape(120, 10, 110, 0)].map((text, index) =>
    requestCounts(parseMetrics(text, wanted), index * 2000),
  );

  t.deepEqual(requestRates(after!, before!), {reads: 10, writes: 3, refused: 3, latencyMost: 0.099});
  t.deepEqual(requestRates(before!, after!), {reads: 0, writes: 0, refused: 0, latencyMost: Number.NaN}, 'the server has started again');
  t.is(after!.inflight, 3);
});

test('labels of metrics are read with what is escaped in them', t => {
  const [state] = controllersOf(parseMetrics(scrape(0, 0, 0, 0), new Set(controllerMetrics)));

  t.like(state, {name: 'job \\ \n', depth: 5, adds: 100});
});

test('what would change a terminal is escaped, and wide letters take two columns', t => {
  t.is(
    printable('a\x1b[31m\r\n\t\u009b\u202e\ud800b'),
    String.raw`a\x1b[31m\xd\n\t\x9b\u{202e}\u{d800}b`.replace(String.raw`\xd`, String.raw`\x0d`),
  );
  t.is(printable('größe 界 👍'), 'größe 界 👍');
  t.deepEqual(['größe', '界', '👍', 'e\u0301'].map(columnsOf), [5, 2, 2, 1]);
  t.deepEqual([clipped('界界界', 6), clipped('界界界', 5), clipped('界界界', 4), clipped('abc', 0)], ['界界界', '界界…', '界…', '']);
});

class Keyboard extends EventEmitter {
  readonly isTTY = true;
  readonly modes: boolean[] = [];
  setRawMode = (isRaw: boolean): unknown => this.modes.push(isRaw);
  resume(): void {}
  pause(): void {}
}

class Display extends EventEmitter {
  readonly columns = 60;
  readonly rows = 12;
  text = '';
  write = (text: string): unknown => (this.text += text);
}

test('a terminal shows what it showed before once the screen is left, and takes keys only until then', t => {
  const [keyboard, display, keys] = [new Keyboard(), new Display(), [] as string[]];
  const parts = {keyboard, display, hasColour: false, key: (key: string) => keys.push(key), resized: () => keys.push('resized')};
  {
    using terminal = new Terminal(parts);
    terminal.draw([{text: 'one', tone: 'bad'}, {text: 'two'}]);
    keyboard.emit('data', Buffer.from('sp'));
    keyboard.emit('data', Buffer.from('\x1b[A'));
    display.emit('resize');
    t.deepEqual(terminal.size, {columns: 60, rows: 12});
  }
  keyboard.emit('data', Buffer.from('q'));
  display.emit('resize');

  t.is(display.text, '\x1b[?1049h\x1b[?25l\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J\x1b[?25h\x1b[?1049l');
  t.deepEqual(
    [keys, keyboard.modes],
    [
      ['s', 'p', 'resized'],
      [true, false],
    ],
  );
});
