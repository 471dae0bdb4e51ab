import {hostname} from 'node:os';
import {isIP} from 'node:net';
import type {UserInfo} from '#src/api/user.js';
import {sleep} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {nodesFlags} from '#src/options/programs/nodes.js';
import {gateOf} from '#src/options/parsed-options.js';
import {agentSecurity} from '#src/plane/nodes/agent-security.js';
import {componentCertificates} from '#src/plane/component/serving-certificates.js';
import {openNodeAgents, type NodeAgents} from '#src/plane/nodes/node-agents.js';
import {rulesIn} from '#src/plane/nodes/nodes.js';
import {SimulatedNodes} from '#src/plane/nodes/simulated-nodes.js';
import {advertisedAddress} from '#src/plane/api-server/addresses.js';
import type {Family, Placement} from '#src/simulation/node/machine.js';
import {noRules, type Rules} from '#src/simulation/rules/rules.js';
import {startSimulation} from '#src/simulation/simulation.js';
import {openConnection, type ServerConnection} from '#src/cli/program/connection.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import {settingsFile} from '#src/cli/program/settings-file.js';
import {logRefusalsOnce} from './refusals.js';
import {missingPermissions} from './permissions.js';

type Given = Invocation<(typeof nodesFlags)['rows']>;

/** `plat nodes`: simulated nodes of an existing cluster, with their agents, until it is stopped. */
export const runNodes = async (given: Given): Promise<number> => {
  const {
    parsed: {options},
    stopping,
  } = given;
  const log = logRefusalsOnce(given.log);
  const rules = options.simulationFile ? await rulesIn(options.simulationFile) : noRules; // Errors of the file are reported before any request.
  await using undo = new Undo();
  // It may be stopped while it waits for a server that does not respond.
  await Promise.race([simulate({...given, log}, rules, undo), untilStopped(stopping)]);
  log.info('stopping');
  return 0;
};

const openClients = ({parsed, clock, log, version, stopping}: Given, meter: Meter): Promise<ServerConnection> =>
  openConnection({
    program: 'plat-nodes',
    options: {...parsed.options, platconfig: settingsFile(parsed.options, process.env) ?? '', platApiContentType: ''},
    version,
    clock,
    meter,
    log,
    env: process.env,
    signal: stopping,
    gate: gateOf(parsed),
  });

const simulate = async (given: Given, rules: Rules, undo: Undo): Promise<void> => {
  const {
    parsed: {options},
    clock,
    log,
    version,
    stopping,
    ready,
    unhandled,
  } = given;
  const meter = new MetricsRegistry({process: true});
  unhandled.countIn(meter);
  const connection = await openClients(given, meter);
  undo.defer(() => connection[Symbol.asyncDispose]());
  await refuseWithoutRights(connection, options.simulatedVolumes);
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const nodes = new SimulatedNodes();
  const {placement, agents} = await agentsOf(given, connection, nodes, ending.signal);
  undo.defer(() => agents[Symbol.asyncDispose]());
  const {naming} = connection;
  const families = [familyOf(placement.addresses(0)[0]!)];
  const clients = {client: connection.client('simulation'), clientAs: ({name}: UserInfo) => connection.client(name)};
  const starting = startSimulation({
    nodes: options.nodes,
    naming,
    clock,
    random,
    log,
    meter,
    rules,
    volumes: options.simulatedVolumes,
    families,
    placement,
    version: version.gitVersion,
    ...clients,
  });
  undo.defer(() =>
    Promise.race([
      starting.then(
        pending => pending.stop(),
        () => {},
      ),
      sleep(clock, permissionTimeoutMs),
    ]),
  ); // Requests to a server that does not respond are abandoned.
  const simulation = await starting;
  nodes.attach(simulation);
  await simulation.reported;
  if (stopping.aborted) return;
  ready(
    `${options.nodes} simulated ${options.nodes === 1 ? 'node' : 'nodes'} at work against ${connection.server} (${naming.name} naming)`,
  );
  await untilStopped(stopping);
};

/** The time limit of the permission check. */
const permissionTimeoutMs = 2000;

const refuseWithoutRights = async (connection: ServerConnection, volumes: boolean): Promise<void> => {
  const missing = await missingPermissions(connection.client('rights', {timeoutMs: 10_000}), {volumes});
  if (missing.length > 0)
    throw new Error(
      `the user of the connection settings may not do what nodes do: ${missing.join(', ')} (docs/simulation.md has a role for it)`,
    );
};

const familyOf = (address: string): Family => (isIP(address) === 6 ? 6 : 4);

/** Opens the ports of the agents, before the nodes that refer to them exist. */
const agentsOf = async (
  {parsed: {options}, clock, log}: Given,
  connection: ServerConnection,
  nodes: SimulatedNodes,
  signal: AbortSignal,
): Promise<{readonly placement: Placement; readonly agents: NodeAgents}> => {
  const {naming} = connection;
  const address = options.nodeIp || advertisedAddress({bindAddress: options.bindAddress, advertiseAddress: ''}, 'IPv4');
  const bindAddress = options.bindAddress || address;
  const names = Array.from({length: options.nodes}, (_, index) => `${options.nodeNamePrefix}${index}`);
  const delegate = connection.client('agents', {timeoutMs: 10_000});
  const security = await agentSecurity({
    delegate,
    naming,
    clock,
    random,
    log,
    signal,
    ...(options.clientCaFile ? {clientCaFile: options.clientCaFile} : {}),
  });
  const certificates = await componentCertificates({
    naming,
    clock,
    log,
    signal,
    options: {...options, bindAddress, tlsSniCertKey: []},
    name: 'nodes',
    hosts: [address, hostname()],
  });
  const agents = await openNodeAgents({
    naming,
    clock,
    random,
    log,
    authenticators: security.authenticators,
    authorizer: security.authorizer,
    names,
    bindAddress,
    firstPort: options.securePort,
    tls: certificates.tlsOptions,
    agentOf: name => nodes.nodeAt(name)?.agent,
  });
  certificates.follow(signal, context => agents.setSecureContext(context));
  const placement = {
    name: (index: number) => names[index]!,
    addresses: () => [address],
    port: (index: number) => agents.ports[index]!,
    reachedByName: false,
  };
  return {placement, agents};
};
