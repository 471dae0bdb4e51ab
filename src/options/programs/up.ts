import type {NamingName} from '#src/api/naming.js';
import {audit} from '#src/options/apiserver/audit.js';
import {flagSection, flagTable, type FlagRow} from '#src/options/flag.js';
import {defaultText, typeLabel} from '#src/options/help.js';
import {commandLogging, featureGates, help} from '#src/options/shared/logging.js';
import {planeNaming} from '#src/options/shared/naming.js';
import {defaultRecordSize, recordFlags, validateRecording} from '#src/options/shared/record.js';

const plane = flagSection('Plane', {
  config: {
    type: 'path',
    help: 'A file with the configuration of the plane, as YAML or JSON (docs/planes.md). Flags take precedence; lists of manifests, feature gates and flags of components are combined.',
  },
  name: {
    type: 'string',
    help: 'The name of the plane, by which plat ps, stop, status, logs, delete and export know it: a DNS label. Its context in kubeconfig files is plat-NAME (docs/planes.md).',
    shownDefault: 'that of the plane in the data directory; default for a new one, or default-2 and so on if that is in use',
    completes: 'planes',
    check: (name: string) => {
      const isLabel = name === '' || /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
      return isLabel ? undefined : 'must be lower-case letters, digits and dashes, at most 63 of them, such as dev';
    },
  },
  'data-dir': {
    type: 'path',
    help: "The directory of the plane: its keys (pki/), its store (store/) and the administrator's connection settings (kubeconfig).",
    shownDefault: './.plat, or ./.plat-plat with --naming=plat; PLAT_HOME/planes/NAME with --name=NAME',
  },
  from: {
    type: 'path',
    help: 'A snapshot (plat snapshot save) from which the store of a new plane is made. Refused where there is a store already.',
  },
  'bind-address': {type: 'ip', help: 'The address of the secure port.', default: '127.0.0.1'},
  'secure-port': {type: 'port', help: 'The HTTPS port. 0 selects a free port and prints it.', default: '6443'},
  ...planeNaming,
  nodes: {
    type: 'int',
    help: 'Number of simulated nodes that run pods. With 0, pods run on nodes that join the cluster.',
    default: '1',
    shownDefault: '1, or 0 with --agent',
    range: {min: 0, max: 10_000},
  },
  console: {
    type: 'bool',
    help: 'Serve a page that shows the plane, on a free port of this machine, and print a link that opens it once (docs/console.md).',
    default: 'false',
  },
  ...recordFlags,
  record: {...recordFlags.record, shownDefault: `off, or ${defaultRecordSize} with --console or --record-dir`},
  agent: {
    type: 'bool',
    help: 'Run the agent of a node beside the plane: it runs pods in real containers by the runtime of this machine (docs/nodes.md). There are no simulated nodes then, unless --nodes is given.',
    default: 'false',
  },
  'agent-arg': {
    type: 'each',
    help: 'A flag for the agent, as --agent-arg=--flag=value. Repeatable.',
    requires: ['agent'],
  },
  services: {
    type: 'bool',
    help: "With --agent: route the addresses of services on this machine, as plat-proxy does, and serve their names to pods, as plat-dns does. With false both are somebody else's.",
    default: 'true',
  },
  'proxy-arg': {
    type: 'each',
    help: 'A flag for the service proxy of --agent, as --proxy-arg=--flag=value. Repeatable.',
    requires: ['agent'],
  },
  'simulation-file': {
    type: 'path',
    help: 'Rules for the behavior of simulated nodes and their pods, as YAML or JSON (docs/simulation.md).',
  },
  'metrics-api': {
    type: 'bool',
    help: 'Serve the resource metrics API (kubectl top, autoscalers) from simulated nodes and from the agents of other nodes. Disable it to install a metrics server.',
    shownDefault: 'true with nodes, false with --nodes=0',
  },
  'bootstrap-tokens': {
    type: 'bool',
    help: 'Let nodes join with bootstrap tokens (plat token): authenticate the tokens, publish the signed cluster-info config map, which everybody may read, and approve the certificate requests of joining nodes.',
    default: 'true',
  },
  'cloud-provider': {
    type: 'string',
    help: 'simulated, for a cloud that gives addresses to services of type LoadBalancer and routes to nodes (docs/simulation.md); empty for none. Its configuration and its state are cloud.yaml and cloud.json in the data directory.',
    shownDefault: 'empty',
    oneOf: ['', 'simulated'],
  },
  manifests: {
    type: 'each',
    help: 'A file of YAML or JSON, or a folder of such files, to apply before the plane is ready: namespaces and custom resource definitions first, the rest once those are served. On the next start they are applied again, over later changes. Repeatable.',
  },
  'webhook-port': {
    type: 'port',
    help: 'Where on this machine the webhooks of the manifests are served, instead of at the services they name, with tls.crt and tls.key of pki/webhook in the data directory. 0 does not change the manifests.',
    default: '0',
  },
  kubeconfig: {
    type: 'path',
    help: "The file to merge the administrator's connection settings into, as a cluster, a user and a context that becomes the current one. Other entries are kept.",
    shownDefault: 'kubeconfig in the data directory',
  },
  'remove-context-on-stop': {
    type: 'bool',
    help: 'Remove the context, cluster and user of the plane from the file of --kubeconfig when the plane stops.',
    default: 'false',
  },
  'apiserver-arg': {type: 'each', help: 'A flag for the API server, as --apiserver-arg=--flag=value. Repeatable.'},
  'controller-manager-arg': {
    type: 'each',
    help: 'A flag for the controller manager, as --controller-manager-arg=--flag=value. Repeatable.',
  },
  'scheduler-arg': {type: 'each', help: 'A flag for the scheduler, as --scheduler-arg=--flag=value. Repeatable.'},
  detach: {
    type: 'bool',
    help: 'Start the plane in the background, and return once it is ready. Its log goes to --log-file.',
    default: 'false',
  },
  output: {
    type: 'string',
    help: 'The form of the line that reports that the plane is ready: text, or json for an object with its address, kubeconfig, name, pid and data directory.',
    default: 'text',
    oneOf: ['text', 'json'],
    shorthand: 'o',
  },
  'log-file': {
    type: 'path',
    help: 'The file of the log, which is renamed to FILE.1 at 10 MiB.',
    shownDefault: 'standard error; plat.log in the data directory with --detach',
  },
  quiet: {
    type: 'bool',
    help: 'Print only the line that begins with "ready", and errors.',
    default: 'false',
    excludes: ['v', 'vmodule'],
  },
  ...commandLogging,
  ...help,
});

/** Flags that are handed on to the components of the plane that have them. */
const components = flagSection('Components', {
  'feature-gates': {...featureGates['feature-gates'], help: `${featureGates['feature-gates'].help} For all components.`},
  'runtime-config': {
    type: 'each',
    label: 'group/version=true|false,...',
    help: 'Built-in APIs that the API server turns on or off, as of plat-apiserver. Repeatable.',
  },
  controllers: {
    type: 'each',
    label: 'strings',
    help: 'The controllers to run, as of plat-controller-manager: * for those that are on by default, foo for one, -foo for one not to run.',
  },
});

/** A flag whose value is handed on as it is, for the component to read. */
const handedOn = (row: FlagRow): FlagRow => {
  const shownDefault = row.type === 'bool' ? undefined : defaultText(row);
  return row.type === 'bool' ? row : {type: 'each', label: typeLabel(row), help: row.help, ...(shownDefault ? {shownDefault} : {})};
};

/** The flags of audit, which the API server reads. */
const handedOnAudit = flagSection(
  audit.title,
  Object.fromEntries(Object.entries<FlagRow>(audit.rows).map(([name, row]) => [name, handedOn(row)])) as Readonly<Record<never, FlagRow>>,
);

/** The flags that go to the API server. */
export const apiserverOwn: readonly string[] = ['runtime-config', ...Object.keys(audit.rows)];

/** The flags that go to the controller manager. */
export const controllerManagerOwn: readonly string[] = ['controllers'];

/** The default data directory. Each naming has its own, because a store keeps the naming it was created with. */
export const defaultDataDir = (naming: NamingName): string => (naming === planeNaming.naming.default ? './.plat' : `./.plat-${naming}`);

/** The flags of `plat up`. */
export const upFlags = flagTable({
  program: 'plat up',
  summary: 'Runs a whole control plane in one process and prints a line that begins with "ready" once it serves.',
  sections: [plane, components, handedOnAudit],
  derive: ({agent, nodes}, given) => (agent && !given.has('nodes') ? {nodes: 0} : {nodes}),
  rules: [
    validateRecording,
    ({simulationFile, nodes}) =>
      simulationFile && nodes === 0 ? '--simulation-file needs --nodes: how many of them to simulate' : undefined,
  ],
});
