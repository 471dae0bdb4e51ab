// The flags of an operator's program.

import {flagSection, flagTable, type OptionsOf} from '#src/options/flag.js';
import {validateLeaseTimes} from '#src/options/rules.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';
import {parseBindAddress} from '#src/serving/plain-listener.js';
import {targetOf, tracingErrors} from '#src/transport/otlp/target.js';
import {clustersError} from './clusters.js';

const off = '0';

const bindAddress = (text: string): string | undefined =>
  text === off || parseBindAddress(text) ? undefined : `must be ${off}, which opens no port, or HOST:PORT such as 127.0.0.1:8081 or :8081`;

const namespaceName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const connection = flagSection('Connection', {
  kubeconfig: {
    type: 'path',
    help: 'The kubeconfig file: the address of the API server and the credentials.',
    shownDefault: 'the file that KUBECONFIG names, or the service account of the pod',
  },
  context: {type: 'string', help: 'The context of the kubeconfig.', shownDefault: 'its current context'},
  cluster: {
    type: 'strings',
    help: 'A further cluster that the controllers use by its name: NAME=KUBECONFIG, NAME=KUBECONFIG@CONTEXT or NAME=@CONTEXT, which is a context of the kubeconfig. Repeatable, or comma separated.',
    shownDefault: 'none',
    check: clustersError,
  },
  master: {type: 'string', help: 'The address of the API server. Takes precedence over the file.'},
  qps: {type: 'float', help: 'Requests to the API server per second in the long run. 0 or less turns the limit off.', default: '20'},
  burst: {type: 'int', help: 'Maximum burst of requests to the API server.', default: '30', range: {min: 1}},
  ...clientNaming,
});

const controllers = flagSection('Controllers', {
  namespaces: {
    type: 'strings',
    help: 'The namespaces to work in, comma separated. Objects in others are neither cached nor reconciled.',
    shownDefault: 'all',
    check: (names: readonly string[]) => {
      const wrong = names.find(name => !namespaceName.test(name));
      return wrong === undefined ? undefined : `"${wrong}" is not the name of a namespace`;
    },
  },
  concurrency: {
    type: 'int',
    help: 'How many keys each controller reconciles at a time.',
    shownDefault: 'what it declares',
    range: {min: 0, max: 10_000},
  },
  'reconcile-timeout': {
    type: 'duration',
    help: 'How long a reconcile may take before it is aborted, of controllers that declare no limit.',
    shownDefault: 'no limit',
    range: {min: '0'},
  },
  'grace-period': {type: 'duration', help: 'How long a stop waits for reconciles in progress.', default: '30s', range: {above: '0'}},
});

const election = flagSection('Leader election', {
  'leader-elect': {type: 'bool', help: 'Run the controllers only while this replica holds the lease. Use it with several replicas.'},
  warmup: {type: 'bool', help: 'Fill the caches before this replica leads, so that it reconciles at once when it does.'},
  'leader-elect-lease-duration': {
    type: 'duration',
    help: 'How long other replicas wait after the last renewal that they see.',
    default: '15s',
    range: {min: '1s'},
  },
  'leader-elect-renew-deadline': {
    type: 'duration',
    help: 'How long the leader tries to renew the lease before it gives up. Must be less than the lease duration.',
    default: '10s',
    range: {above: '0'},
  },
  'leader-elect-retry-period': {
    type: 'duration',
    help: 'Time between attempts to acquire or renew the lease.',
    default: '2s',
    range: {above: '0'},
  },
  'leader-elect-resource-name': {type: 'string', help: 'The name of the lease.', shownDefault: 'that of the program'},
  'leader-elect-resource-namespace': {
    type: 'string',
    help: 'The namespace of the lease.',
    shownDefault: 'POD_NAMESPACE, or that of the pod or of the context of the kubeconfig, or default',
  },
});

const endpoints = flagSection('Endpoints', {
  'metrics-bind-address': {
    type: 'string',
    label: 'address',
    help: `HOST:PORT of /metrics. ${off} opens no port.`,
    default: off,
    check: bindAddress,
  },
  'metrics-secure': {
    type: 'bool',
    help: 'Serve /metrics over HTTPS, to bearer tokens that the API server knows and whose user may get the non-resource URL /metrics. If false: over plain HTTP, to everybody.',
    default: 'true',
  },
  'metrics-cert-path': {
    type: 'path',
    help: 'The directory of the certificate of /metrics. Followed while the program runs.',
    shownDefault: 'a self-signed certificate, in memory',
  },
  'metrics-cert-name': {type: 'string', help: 'The file of the certificate in that directory.', default: 'tls.crt'},
  'metrics-cert-key': {type: 'string', help: 'The file of its key.', default: 'tls.key'},
  'health-probe-bind-address': {
    type: 'string',
    label: 'address',
    help: `HOST:PORT of /healthz and /readyz, over plain HTTP. ${off} opens no port.`,
    default: ':8081',
    check: bindAddress,
  },
  'pprof-bind-address': {
    type: 'string',
    label: 'address',
    help: `HOST:PORT of profiles at /debug/pprof/, over plain HTTP and without authentication; without HOST on loopback. ${off} opens no port.`,
    default: off,
    check: bindAddress,
  },
  'tracing-endpoint': {
    type: 'string',
    label: 'address',
    help: 'Where traces of reconciles are sent, by OTLP over gRPC without TLS: HOST:PORT or unix:///PATH.',
    shownDefault: 'OTEL_EXPORTER_OTLP_ENDPOINT, or none',
    check: (endpoint: string) =>
      endpoint ? tracingErrors({endpoint: targetOf(endpoint), samplingRatePerMillion: 0})[0]?.detail : undefined,
  },
  'tracing-sampling-rate-per-million': {
    type: 'int',
    help: 'How many of a million traces are sent.',
    default: '1000000',
    range: {min: 0, max: 1_000_000},
  },
  'webhook-bind-address': {
    type: 'string',
    label: 'address',
    help: 'HOST:PORT of the webhooks, over HTTPS. Opened only by programs with webhooks.',
    default: ':9443',
    check: text => (text === off ? 'webhooks need a port' : bindAddress(text)),
  },
  'webhook-cert-dir': {
    type: 'path',
    help: "The directory of the webhooks' certificate: tls.crt, tls.key and, to keep caBundle up to date, ca.crt. Followed while the program runs.",
    shownDefault: "what the program says: by default a Secret that the program's replicas share",
  },
});

const misc = flagSection('Misc', {...commandLogging, help: help.help});

/** Returns the flags of an operator program with that name. */
export const managerFlags = (program: string, summary: string) =>
  flagTable({
    program,
    summary,
    sections: [connection, controllers, election, endpoints, misc],
    rules: [
      ({leaderElect, leaderElectLeaseDuration, leaderElectRenewDeadline, leaderElectRetryPeriod}) =>
        leaderElect
          ? validateLeaseTimes('leader-elect', {
              leaseDuration: leaderElectLeaseDuration,
              renewDeadline: leaderElectRenewDeadline,
              retryPeriod: leaderElectRetryPeriod,
            })
          : undefined,
      ({metricsSecure, metricsCertPath}) => (metricsCertPath && !metricsSecure ? '--metrics-cert-path needs --metrics-secure' : undefined),
      ({metricsSecure, metricsBindAddress, healthProbeBindAddress}) =>
        metricsSecure && metricsBindAddress === healthProbeBindAddress && (parseBindAddress(metricsBindAddress)?.port ?? 0) > 0
          ? '--metrics-bind-address must differ from --health-probe-bind-address, or give --metrics-secure=false'
          : undefined,
    ],
  });

export type ManagerFlags = ReturnType<typeof managerFlags>;
export type ProgramOptions = OptionsOf<ManagerFlags>;
