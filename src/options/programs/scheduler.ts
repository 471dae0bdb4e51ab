import {naming} from '#src/api/naming.js';
import {batching, validateLeaderElection} from '#src/options/controller-manager/general.js';
import {rates} from '#src/options/controller-manager/limits.js';
import {serving} from '#src/options/controller-manager/serving.js';
import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {serverConnection} from '#src/options/shared/kubeconfig.js';
import {emulation, featureGates, help, logging, metrics, verbosity} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

const plat = naming('plat');

const {
  'leader-elect': elect,
  'leader-elect-lease-duration': lease,
  'leader-elect-renew-deadline': renew,
  'leader-elect-retry-period': retry,
  'leader-elect-resource-lock': lock,
} = batching.rows;
const {'leader-elect-resource-name': lockName, 'leader-elect-resource-namespace': lockNamespace} = batching.rows;
const {'plat-api-qps': qps, 'plat-api-burst': burst, 'plat-api-content-type': contentType} = rates.rows;

const misc = flagSection('Scheduling and misc', {
  config: {
    type: 'path',
    help: `The file that configures scheduling: a PlatSchedulerConfiguration of ${plat.prefix}scheduler.${plat.group('config')}/v1, or the corresponding names of the kubernetes naming. Flags take precedence.`,
  },
  ...serverConnection,
  'pod-max-in-unschedulable-pods-duration': {
    type: 'duration',
    help: 'How long an unschedulable pod waits for an event before scheduling is retried regardless.',
    default: '5m0s',
    range: {above: '0'},
  },
  ...featureGates,
  ...clientNaming,
  ...help,
  ...verbosity,
  ...logging,
  ...metrics,
});

const clients = flagSection('Clients', {
  'plat-api-qps': {...qps, default: '50'},
  'plat-api-burst': {...burst, default: '100'},
  'plat-api-content-type': contentType,
});

const election = flagSection('Leader election', {
  'leader-elect': {
    ...elect,
    help: 'Acquire the leader election lease before scheduling pods. Use it with several replicas of the scheduler.',
  },
  'leader-elect-lease-duration': lease,
  'leader-elect-renew-deadline': renew,
  'leader-elect-retry-period': retry,
  'leader-elect-resource-lock': lock,
  'leader-elect-resource-name': {...lockName, default: 'plat-scheduler'},
  'leader-elect-resource-namespace': lockNamespace,
});

const port = flagSection('Authentication', {...serving.rows, 'secure-port': {...serving.rows['secure-port'], default: '10259'}});

/** The flags of `plat-scheduler`. */
export const schedulerFlags = flagTable({
  program: 'plat-scheduler',
  summary: 'Gives pods that wait for a node to one: it finds the nodes a pod fits on, chooses the best, and binds the pod to it.',
  sections: [misc, clients, election, port, flagSection('Versioning', emulation)],
  rules: [validateLeaderElection],
});

export type SchedulerOptions = OptionsOf<typeof schedulerFlags>;
