import {kinds} from '#src/api/kinds/index.js';
import {aCloud} from './clouds.js';
import {aPlane} from './plane.js';

/** A plane with a simulated cloud and the controller of its load balancers. */
export const aBalancedPlane = async (configuration: object = {}) => {
  const cloud = aCloud(configuration);
  const plane = await aPlane({
    controllers: ['service-lb-controller'],
    controllerManagerArgs: [...cloud.args, '--concurrent-service-syncs=2'],
  });
  const {clock} = plane;
  const client = plane.client();
  const services = client.resource(kinds.services);
  const address = {namespace: 'default'};
  return {
    cloud,
    plane,
    clock,
    client,
    services,
    nodes: client.resource(kinds.nodes),
    async make(name: string, spec: object = {}) {
      await services.create({metadata: {name, ...address}, spec: {type: 'LoadBalancer', ports: [{port: 80}], ...spec}});
      await clock.drain();
    },
    async change(name: string, body: object) {
      await services.patch(name, 'merge', body, address);
      await clock.drain();
    },
    get: (name: string) => services.get(name, address),
    ips: async (name: string) => ((await services.get(name, address)).status?.loadBalancer?.ingress ?? []).map(({ip}) => ip),
    async reasons() {
      await clock.advance(1_000);
      return (await client.resource(kinds.events).list(address)).items.map(({reason}) => reason!).sort();
    },
    [Symbol.asyncDispose]: () => plane.stop(),
  };
};
