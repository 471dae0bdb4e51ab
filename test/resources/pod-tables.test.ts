import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {podColumns} from '#src/resources/core/pod/columns.js';
import {aPod, start} from './pods.js';

const rows: readonly (readonly [string, Pod, Record<string, string>])[] = [
  [
    'runs',
    {
      ...aPod(),
      status: {
        phase: 'Running',
        conditions: [{type: 'Ready', status: 'True'}],
        containerStatuses: [
          {
            name: 'c',
            image: '',
            imageID: '',
            ready: true,
            restartCount: 2,
            state: {running: {}},
            lastState: {terminated: {exitCode: 1, finishedAt: '1970-01-01T00:00:00Z'}},
          },
        ],
      },
    },
    {Ready: '1/1', Status: 'Running', Restarts: '2 (56y ago)'},
  ],
  [
    'cannot be started',
    {
      ...aPod(),
      status: {
        phase: 'Pending',
        containerStatuses: [{name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {waiting: {reason: 'ErrImagePull'}}}],
      },
    },
    {Ready: '0/1', Status: 'ErrImagePull', Restarts: '0'},
  ],
  [
    'is being set up',
    {
      ...aPod({
        initContainers: [
          {name: 'i', image: 'a'},
          {name: 'j', image: 'a'},
        ],
      }),
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          {name: 'i', image: '', imageID: '', ready: true, restartCount: 0, state: {terminated: {exitCode: 0}}},
          {name: 'j', image: '', imageID: '', ready: false, restartCount: 0, state: {waiting: {reason: 'PodInitializing'}}},
        ],
      },
    },
    {Ready: '0/1', Status: 'Init:1/2'},
  ],
  ['ends', {...aPod({}, {deletionTimestamp: '2026-01-01T00:00:00Z'}), status: {phase: 'Running'}}, {Status: 'Terminating'}],
  [
    'was killed',
    {
      ...aPod(),
      status: {
        phase: 'Failed',
        containerStatuses: [
          {name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 137, signal: 9}}},
        ],
      },
    },
    {Status: 'Signal:9'},
  ],
  [
    'is done but for a container that failed',
    {
      ...aPod(),
      status: {
        phase: 'Running',
        containerStatuses: [
          {name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 0, reason: 'Completed'}}},
          {name: 'd', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 1, reason: 'Error'}}},
          {name: 'e', image: '', imageID: '', ready: true, restartCount: 0, state: {running: {}}},
        ],
      },
    },
    {Ready: '1/1', Status: 'Error'},
  ],
];

for (const [what, pod, cells] of rows) {
  test(`the row of a pod that ${what} shows it`, async t => {
    const {row} = await start();
    const shown = await row(kinds.pods, pod);

    for (const [name, text] of Object.entries(cells)) if (name !== 'Restarts' || !text.includes('ago')) t.is(shown[name], text);
    t.regex(String(shown['Restarts']), /^\d+( \(\S+ ago\))?$/);
  });
}

test('the columns of a row look at a pod once for what they share', t => {
  let looks = 0;
  const pod = Object.defineProperty(aPod(), 'status', {
    get: () => ({
      get containerStatuses() {
        looks++;
        return [];
      },
    }),
  });
  const cells = podColumns.slice(1, 4).map(({of}) => of(pod, () => '', naming('kubernetes')));

  t.deepEqual([cells, looks], [['0/1', '', '0'], 1]);
});
