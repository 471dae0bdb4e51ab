import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {clusterConnection} from '#src/options/programs/client.js';

/** The flags of `plat forecast`. */
export const forecastFlags = flagTable({
  program: 'plat forecast',
  summary:
    'Says what happens to the objects of a cluster when time passes, in a copy with simulated nodes: which jobs run, what expires, what is used up. Only reads from the cluster.',
  positional: '',
  sections: [
    flagSection('Forecast', {
      until: {type: 'duration', help: 'How far to look ahead.', default: '24h0m0s'},
      apply: {type: 'strings', help: 'Files or directories to apply at the beginning: the difference that this makes is printed.'},
      load: {
        type: 'each',
        help: 'The load that the pods of a workload share, as KIND/[NAMESPACE/]NAME=cpu:AMOUNT[,memory:AMOUNT]. Autoscalers run only with a load. May be repeated.',
      },
      'load-file': {
        type: 'path',
        help: 'A file of loads over time: for each workload a list of steps with after (a duration), cpu and memory.',
      },
      'job-time': {
        type: 'strings',
        help: 'How long the jobs of a cron job run, as [NAMESPACE/]NAME=DURATION.',
        shownDefault: 'what its jobs took on average, or a second',
      },
      namespace: {
        type: 'string',
        help: 'The namespace of workloads and cron jobs that name none.',
        shownDefault: 'that of the context, or default',
        shorthand: 'n',
      },
      output: {type: 'string', help: 'The format.', default: 'text', oneOf: ['text', 'json'], shorthand: 'o'},
    }),
    flagSection('Source', {
      snapshot: {type: 'path', help: 'A file of plat snapshot, instead of a cluster.'},
      ...clusterConnection,
      ...clientNaming,
      ...commandLogging,
      ...help,
    }),
  ],
});
