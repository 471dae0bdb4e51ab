import {hostname} from 'node:os';
import {isIP} from 'node:net';
import {sleep} from '#src/base/clock.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {nodesFlags} from '#src/options/nodes.js';
import {gateOf} from '#src/options/parsed.js';
import {agentSecurity} from '#src/plane/agent-security.js';
import {componentCertificates} from '#src/plane/component/serving-certificates.js';
import {openNodeAgents, type NodeAgents} from '#src/plane/node-agents.js';
import {rulesIn} from '#src/plane/nodes.js';
import {advertisedAddress} from '#src/plane/self-service.js';
import type {Family, Placement} from '#src/simulation/node/machine.js';
import {noRules} from '#src/simulation/rules/rules.js';
import {startSimulation, type Simulation} from '#src/simulation/simulation.js';
import {openConnection, type ServerConnection} from '#src/cli/connection.js';
import {untilStopped, type Invocation} from '#src/cli/program.js';
import {settingsFile} from '#src/cli/settings-file.js';
import {refusalsOnce} from './refusals.js';
import {missingRights} from './rights.js';

type Given = Invocation<(typeof nodesFlags)['rows']>;

/** `plat nodes`: simulated nodes of a cluster that is there, with their agents, until it is asked to stop. */
export const runNodes = async (given: Given): Promise<number> => {
  const {parsed, clock, version, stopping, ready} = given;
  const {options} = parsed;
  const log = refusalsOnce(given.log);
  const rules = options.simulationFile ? await rulesIn(options.simulationFile) : noRules; // What is wrong with the file is told before anybody is asked.
  await using undo = new Undo();
  const meter = new MetricsRegistry({process: true});
  given.unhandled.countIn(meter);
  const ending = new AbortController();
  const connection = await openConnection({
    program: 'plat-nodes',
    options: {...options, platconfig: settingsFile(options, process.env) ?? '', platApiContentType: ''},
    version,
    clock,
    meter,
    log,
    env: process.env,
    signal: stopping,
    gate: gateOf(parsed),
  });
  undo.defer(() => connection[Symbol.asyncDispose]());
  undo.defer(() => ending.abort());
  await refuseWithoutRights(connection);
  let simulation: Simulation | undefined;
  const {placement, agents} = await agentsOf({given: {...given, log}, connection, signal: ending.signal, simulation: () => simulation});
  undo.defer(() => agents[Symbol.asyncDispose]());
  const starting = startSimulation({
    nodes: options.nodes,
    naming: connection.naming,
    clock,
    random,
    log,
    meter,
    rules,
    families: [familyOf(placement.addresses(0)[0]!)],
    placement,
    version: version.gitVersion,
    client: connection.client('simulation'),
    clientAs: ({name}) => connection.client(name),
  });
  undo.defer(() => Promise.race([starting.then(late => late.stop(), () => {}), sleep(clock, patienceMs)])); // What asks a server that does not answer is left behind.
  const work = async (): Promise<void> => {
    simulation = await starting;
    await simulation.reported;
    ready(`${options.nodes} simulated ${options.nodes === 1 ? 'node' : 'nodes'} at work against ${connection.server} (${connection.naming.name} naming)`);
    await untilStopped(stopping);
  };
  await Promise.race([work(), untilStopped(stopping)]);
  log.info('stopping');
  return 0;
};

/** How long the nodes have to end what they are doing. */
const patienceMs = 2000;

const refuseWithoutRights = async (connection: ServerConnection): Promise<void> => {
  const missing = await missingRights(connection.client('rights', {timeoutMs: 10_000}));
  if (missing.length > 0) throw new Error(`the user of the connection settings may not do what nodes do: ${missing.join(', ')} (docs/simulation.md has a role for it)`);
};

const familyOf = (address: string): Family => (isIP(address) === 6 ? 6 : 4);

interface AgentsParts {
  readonly given: Given;
  readonly connection: ServerConnection;
  readonly signal: AbortSignal;
  simulation(): Simulation | undefined;
}

/** Opens the ports of the agents, before the nodes that tell of them are there. */
const agentsOf = async ({given: {parsed: {options}, clock, log}, connection, signal, simulation}: AgentsParts): Promise<{readonly placement: Placement; readonly agents: NodeAgents}> => {
  const {naming} = connection;
  const address = options.nodeIp || advertisedAddress({bindAddress: options.bindAddress, advertiseAddress: ''}, 'IPv4');
  const bindAddress = options.bindAddress || address;
  const names = Array.from({length: options.nodes}, (_, index) => `${options.nodeNamePrefix}${index}`);
  const shared = {naming, clock, random, log, signal};
  const delegate = connection.client('agents', {timeoutMs: 10_000});
  const security = await agentSecurity({...shared, delegate, ...(options.clientCaFile ? {clientCaFile: options.clientCaFile} : {})});
  const certificates = await componentCertificates({...shared, options: {...options, bindAddress, tlsSniCertKey: []}, name: 'nodes', hosts: [address, hostname()]});
  const agents = await openNodeAgents({
    ...shared,
    ...security,
    names,
    bindAddress,
    firstPort: options.securePort,
    tls: certificates.tlsOptions,
    agentOf: name => simulation()?.nodeAt(name)?.agent,
  });
  certificates.follow(signal, context => agents.setSecureContext(context));
  const placement = {name: (index: number) => names[index]!, addresses: () => [address], port: (index: number) => agents.ports[index]!, reachedByName: false};
  return {placement, agents};
};
