import {dirname, resolve} from 'node:path';
import {keyOf, keyText} from '#src/api/key.js';
import {withClockHeld, sleep} from '#src/base/clock.js';
import {contentOf} from '#src/base/files/files.js';
import {
  ImplementedElsewhere,
  NotImplemented,
  RetryLater,
  type CloudNode,
  type CloudProvider,
  type CloudService,
  type Instances,
  type LoadBalancers,
  type ProviderParts,
  type Routes,
} from '#src/runtime/cloud.js';
import {addressesFor} from './addresses.js';
import {parseConfiguration, type Call, type Configuration} from './configuration.js';
import {StateStore, type SimulatedInstance} from './state.js';

/** Begins a call: waits or fails as the configuration's faults say. */
type Enter = (call: Call, of: string) => Promise<Configuration>;

const nodeName = ({metadata}: CloudNode): string => metadata?.name ?? '';
const serviceName = (service: CloudService): string => keyText(keyOf(service));

const instancesOf = (enter: Enter, states: StateStore): Instances => {
  const instanceOf = async (node: CloudNode): Promise<SimulatedInstance | undefined> => {
    const {instances} = await states.read();
    const id = node.spec?.providerID;
    const byId = id ? Object.values(instances).find(({providerID}) => providerID === id) : undefined;
    return byId ?? instances[nodeName(node)];
  };
  return {
    async exists(node) {
      await enter('instances.exists', nodeName(node));
      return (await instanceOf(node))?.state !== 'gone';
    },
    async isShutDown(node) {
      await enter('instances.isShutDown', nodeName(node));
      return (await instanceOf(node))?.state === 'stopped';
    },
    async metadata(node) {
      const {region, zone, instanceType} = await enter('instances.metadata', nodeName(node));
      const {state, podRanges: _, ...own} = (await instanceOf(node)) ?? {state: 'running' as const};
      if (state === 'gone') throw new Error('instance not found');
      return {
        providerID: node.spec?.providerID ?? `simulated:///${nodeName(node)}`,
        instanceType,
        region,
        zone,
        addresses: node.status?.addresses ?? [],
        ...own,
      };
    },
    async podRanges(node) {
      await enter('instances.podRanges', nodeName(node));
      const {state, podRanges = []} = (await instanceOf(node)) ?? {state: 'running' as const};
      if (state === 'gone') throw new Error('instance not found');
      return podRanges;
    },
  };
};

const portsOf = ({spec}: CloudService): string[] =>
  (spec?.ports ?? []).map(({protocol = 'TCP', port, nodePort = 0}) => `${protocol}/${port} -> ${nodePort}`);

const loadBalancersOf = (enter: Enter, states: StateStore): LoadBalancers => {
  /** The name that clouds commonly give: `a` and the service's uid. */
  const name = (_: string, {metadata}: CloudService): string => `a${(metadata?.uid ?? '').replaceAll('-', '')}`.slice(0, 32);
  return {
    name,
    async get(cluster, service) {
      await enter('loadBalancers.get', serviceName(service));
      return (await states.read()).loadBalancers[name(cluster, service)]?.status;
    },
    async ensure(cluster, service, nodes) {
      const {addresses} = await enter('loadBalancers.ensure', serviceName(service));
      const own = name(cluster, service);
      await states.change(state => {
        const others = Object.entries(state.loadBalancers).filter(([each]) => each !== own);
        const used = others.flatMap(([, {status}]) => (status.ingress ?? []).flatMap(({ip}) => ip ?? []));
        const present = (state.loadBalancers[own]?.status.ingress ?? []).flatMap(({ip}) => ip ?? []);
        const ingress = addressesFor(service, addresses, {used, present}).map(ip => ({ip, ipMode: 'VIP'}));
        const balancer = {service: serviceName(service), status: {ingress}, nodes: nodes.map(nodeName).sort(), ports: portsOf(service)};
        return {...state, loadBalancers: {...state.loadBalancers, [own]: balancer}};
      });
      return (await states.read()).loadBalancers[own]?.status ?? {};
    },
    async update(cluster, service, nodes) {
      await enter('loadBalancers.update', serviceName(service));
      const own = name(cluster, service);
      await states.change(state => {
        const balancer = state.loadBalancers[own];
        if (!balancer) throw new Error(`load balancer ${own} does not exist`);
        return {...state, loadBalancers: {...state.loadBalancers, [own]: {...balancer, nodes: nodes.map(nodeName).sort()}}};
      });
    },
    async ensureDeleted(cluster, service) {
      await enter('loadBalancers.ensureDeleted', serviceName(service));
      const own = name(cluster, service);
      await states.change(state => {
        const {[own]: gone, ...loadBalancers} = state.loadBalancers;
        return gone ? {...state, loadBalancers} : state;
      });
    },
  };
};

const routesOf = (enter: Enter, states: StateStore): Routes => ({
  async list(cluster) {
    await enter('routes.list', '');
    const {routes, instances} = await states.read();
    return Object.entries(routes)
      .filter(([name]) => name.startsWith(`${cluster}-`))
      .map(([name, route]) => ({name, ...route, ...(instances[route.targetNode]?.state === 'gone' ? {blackhole: true} : {})}));
  },
  async create(cluster, nameHint, route) {
    const name = `${cluster}-${nameHint}-${route.destinationCIDR}`;
    await enter('routes.create', name);
    await states.change(state => ({...state, routes: {...state.routes, [name]: route}}));
  },
  async delete(_, {name}) {
    await enter('routes.delete', name);
    await states.change(state => {
      const {[name]: gone, ...routes} = state.routes;
      return gone ? {...state, routes} : state;
    });
  },
});

/**
 * Opens the simulated cloud: machines exist unless its state says otherwise, load balancers get addresses of a range
 * and forward nothing, and routes are a table. Its configuration and its state may be edited while it runs.
 */
export const openSimulated = async ({configFile, files, clock, log}: ProviderParts): Promise<CloudProvider> => {
  let stamp = configFile && files.stamp(configFile);
  let configuration = parseConfiguration(configFile ? (await contentOf(files, configFile)).toString() : '');
  const {stateFile} = configuration;
  const states = new StateStore(files, stateFile && resolve(dirname(configFile), stateFile), clock);
  await states.read();

  const refresh = async (): Promise<void> => {
    if (!configFile || files.stamp(configFile) === stamp) return;
    stamp = files.stamp(configFile);
    try {
      configuration = parseConfiguration((await contentOf(files, configFile)).toString());
    } catch (error) {
      log.error({file: configFile, err: error}, 'the configuration of the simulated cloud stays as it was');
    }
  };
  const enter: Enter = async (call, of) => {
    await withClockHeld(clock, refresh);
    const found = configuration.faults.filter(fault => fault.call === call && (fault.of === undefined || fault.of === of));
    for (const {delayMs, error, retryAfterMs, implementedElsewhere, notImplemented} of found) {
      if (delayMs) await sleep(clock, delayMs);
      if (implementedElsewhere) throw new ImplementedElsewhere('implemented by alternate to cloud provider');
      if (notImplemented) throw new NotImplemented('unimplemented');
      if (retryAfterMs !== undefined) throw new RetryLater(error ?? 'the simulated cloud is busy', retryAfterMs);
      if (error !== undefined) throw new Error(error);
    }
    return configuration;
  };
  return {
    name: 'simulated',
    instances: instancesOf(enter, states),
    loadBalancers: loadBalancersOf(enter, states),
    routes: routesOf(enter, states),
  };
};
