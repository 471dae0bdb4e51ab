import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {quantityOf} from '#src/api/quantity.js';
import {resourceList, type QuotaEvaluator} from './evaluator.js';

type Service = ObjectOf<typeof kinds.services>;

const nodePorts = ({spec}: Frozen<Service>): number => {
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') return ports.length;
  if (spec?.type !== 'LoadBalancer') return 0;
  return spec.allocateLoadBalancerNodePorts === false ? ports.filter(({nodePort}) => nodePort).length : ports.length;
};

/** Evaluates services. Updates are charged too, since the type may change. */
export const serviceEvaluator: QuotaEvaluator = {
  group: '',
  resource: 'services',
  kind: kinds.services,
  handles: (operation, subresource) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  matchesResource: name => ['count/services', 'services', 'services.nodeports', 'services.loadbalancers'].includes(name),
  usage(object) {
    const service = object as Frozen<Service>;
    return resourceList(
      ['count/services', quantityOf(1)],
      ['services', quantityOf(1)],
      ['services.nodeports', quantityOf(nodePorts(service))],
      ['services.loadbalancers', quantityOf(service.spec?.type === 'LoadBalancer' ? 1 : 0)],
    );
  },
};
