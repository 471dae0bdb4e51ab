import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {subject, type Finding, type Rule, type Subject} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import type {Condition} from '#src/why/facts/conditions.js';

type Ingress = ObjectOf<typeof kinds.ingresses>;

const isDefault = ({metadata}: KubeObject): boolean =>
  Object.entries(metadata?.annotations ?? {}).some(([key, value]) => key.endsWith('/is-default-class') && value === 'true');

const classOf: Rule<Ingress> = async (ingress, cluster) => {
  const {annotations = {}, creationTimestamp: since} = ingress.metadata ?? {};
  const name = ingress.spec?.ingressClassName ?? Object.entries(annotations).find(([key]) => key.endsWith('/ingress.class'))?.[1];
  if (!name) {
    const classes = await cluster.list(kinds.ingressClasses);
    if (classes.some(isDefault)) return undefined;
    return {
      rule: 'ingress-class',
      sentence: 'it has no class, and there is no default one, so that no controller serves it',
      since,
      ends: `A spec.ingressClassName${classes.length > 0 ? `: there are ${classes.map(each => each.metadata?.name).join(', ')}` : ', once an ingress controller is installed'}.`,
    };
  }
  if (!(await cluster.look(kinds.ingressClasses, name)).isAbsent) return undefined;
  return {
    rule: 'ingress-class',
    sentence: `its class ${name} does not exist, so that no controller serves it`,
    since,
    ends: `The creation of the ingress class ${name}, or another spec.ingressClassName.`,
  };
};

const backends = ({spec}: Ingress): {readonly name: string}[] =>
  [spec?.defaultBackend, ...(spec?.rules ?? []).flatMap(({http}) => http?.paths.map(({backend}) => backend) ?? [])].flatMap(backend =>
    backend?.service ? [backend.service] : [],
  );

const backend: Rule<Ingress> = async (ingress, cluster) => {
  for (const {name} of backends(ingress)) {
    const {isAbsent} = await cluster.look(kinds.services, name, ingress.metadata?.namespace);
    if (isAbsent)
      return {
        rule: 'ingress-backend',
        sentence: `its backend is the service ${name}, which does not exist`,
        since: ingress.metadata?.creationTimestamp,
        ends: `The creation of the service ${name} in the namespace ${ingress.metadata?.namespace}.`,
      };
  }
  return undefined;
};

const address: Rule<Ingress> = async (ingress, cluster) => {
  if ((ingress.status?.loadBalancer?.ingress?.length ?? 0) > 0) return undefined;
  const name = ingress.spec?.ingressClassName;
  const found = name ? await cluster.get(kinds.ingressClasses, name) : undefined;
  const controller = found?.spec?.controller;
  return {
    rule: 'ingress-address',
    sentence: `it has no address, as ${controller ? `the controller ${controller} of its class` : 'the controller of its class'} has not written one`,
    since: ingress.metadata?.creationTimestamp,
    ends: `${controller ? `The controller ${controller}` : 'An ingress controller'}, as soon as it works.`,
  };
};

export const ingressSubject = subject<Ingress>({
  rules: [classOf, backend, address],
  rest: ({status}) =>
    `it has the address ${status?.loadBalancer?.ingress?.map(({ip, hostname}) => ip ?? hostname).join(', ')}, and its services exist`,
});

interface Gateway extends KubeObject {
  spec?: {gatewayClassName?: string};
  status?: {conditions?: Condition[]};
}

/** A gateway whose class nobody serves. The rest of it is told by its conditions. */
export const gatewayClass: Rule<Gateway> = async (gateway, cluster: Cluster): Promise<Finding | undefined> => {
  const name = gateway.spec?.gatewayClassName ?? '';
  const kind = cluster.discovery.kindOf({apiVersion: gateway.apiVersion ?? '', kind: 'GatewayClass'});
  if (!kind || !name) return undefined;
  const {found, isAbsent} = await cluster.look(kind, name);
  const since = gateway.metadata?.creationTimestamp;
  if (isAbsent)
    return {
      rule: 'gateway-class',
      sentence: `its class ${name} does not exist, so that no controller serves it`,
      since,
      ends: `The creation of the gateway class ${name}, or another spec.gatewayClassName.`,
    };
  const accepted = (found as Gateway | undefined)?.status?.conditions?.find(({type}) => type === 'Accepted');
  if (!found || accepted?.status === 'True') return undefined;
  return {
    rule: 'gateway-class',
    sentence: `its class ${name} is not accepted by a controller`,
    since,
    ends: `The controller ${(found as {spec?: {controllerName?: string}}).spec?.controllerName} of the class, as soon as it works.`,
    next: referenceTo(kind, found),
  };
};

/** A gateway: its class first, then what a generic subject finds. */
export const gatewaySubject = (generic: Subject): Subject => ({
  rules: [gatewayClass as Rule, ...generic.rules],
  rest: (object, cluster) => generic.rest(object, cluster),
});
