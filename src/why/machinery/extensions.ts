// What extends the API: aggregated servers, definitions, webhooks.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, conditionOf} from '#src/why/facts/conditions.js';
import {subject, type Finding, type Rule} from '#src/why/facts/finding.js';
import {reference, type Reference} from '#src/why/facts/reference.js';

type ApiService = ObjectOf<typeof kinds.apiServices>;
type Definition = ObjectOf<typeof kinds.customResourceDefinitions>;
type WebhookConfiguration = ObjectOf<typeof kinds.validatingWebhookConfigurations>;

interface ServiceReference {
  readonly name?: string;
  readonly namespace?: string;
}

const serviceReference = ({name = '', namespace}: ServiceReference): Reference => reference(kinds.services, name, namespace);

const unavailable: Rule<ApiService> = service => {
  const available = conditionOf(service, 'Available');
  if (available?.status === 'True') return undefined;
  const {service: behind} = service.spec ?? {};
  const isReachable = available?.reason === 'FailedDiscoveryCheck';
  return {
    rule: 'api-service',
    sentence: available ? `it is not available: ${becauseOf(available)}` : 'nobody has checked yet whether it is available',
    since: available?.lastTransitionTime ?? service.metadata?.creationTimestamp,
    ends: !behind
      ? 'The API server that registers it.'
      : available?.reason === 'ServiceNotFound'
        ? `The creation of the service ${behind.namespace}/${behind.name} with the server behind it, or the deletion of the APIService.`
        : `The server behind the service ${behind.namespace}/${behind.name}, once it answers.`,
    next: behind && !isReachable ? serviceReference(behind) : undefined,
  };
};

export const apiServiceSubject = subject<ApiService>({
  rules: [unavailable],
  rest: service => `it is available: ${becauseOf(conditionOf(service, 'Available') ?? {})}`,
});

/** What is wrong with the service behind a webhook; undefined if an address behind it is ready. */
const awayService = async (title: string, service: ServiceReference, cluster: Cluster): Promise<Finding | undefined> => {
  const of = serviceReference(service);
  const {found, isAbsent} = await cluster.look(kinds.services, of.name, of.namespace);
  const name = `${of.namespace}/${of.name}`;
  if (isAbsent)
    return {
      rule: 'webhook-service',
      sentence: `${title} is behind the service ${name}, which does not exist`,
      ends: `The creation of the service ${name} with what serves the webhook, or the deletion of the webhook.`,
    };
  if (!found || found.spec?.type === 'ExternalName') return undefined;
  const slices = await cluster.list(kinds.endpointSlices, {
    namespace: of.namespace ?? '',
    labelSelector: `${cluster.naming.key('service-name')}=${of.name}`,
  });
  if (slices.some(({endpoints}) => endpoints?.some(({conditions}) => conditions?.ready !== false))) return undefined;
  return {
    rule: 'webhook-service',
    sentence: `${title} is behind the service ${name}, which has no endpoints`,
    ends: `An endpoint of the service ${name} that is ready.`,
    next: of,
  };
};

const webhooksAway: Rule<WebhookConfiguration> = async ({webhooks = []}, cluster) => {
  for (const {name, clientConfig, failurePolicy = 'Fail'} of webhooks) {
    const title = `its webhook ${name} (failurePolicy ${failurePolicy})`;
    const found = clientConfig.service && (await awayService(title, clientConfig.service, cluster));
    if (found) return found;
  }
  return undefined;
};

export const webhookSubject = subject<WebhookConfiguration>({
  rules: [webhooksAway],
  rest: ({webhooks = []}) => `the services of its webhooks (${webhooks.map(({name}) => name).join(', ')}) have endpoints`,
});

const unestablished: Rule<Definition> = definition => {
  const names = conditionOf(definition, 'NamesAccepted');
  const established = conditionOf(definition, 'Established');
  const structural = conditionOf(definition, 'NonStructuralSchema');
  const approved = conditionOf(definition, 'KubernetesAPIApprovalPolicyConformant');
  const since = (names ?? established)?.lastTransitionTime ?? definition.metadata?.creationTimestamp;
  if (names?.status === 'False')
    return {
      rule: 'definition-names',
      sentence: `its names are not accepted: ${becauseOf(names)}`,
      since,
      ends: 'Other names, or the deletion of the definition that has them.',
    };
  if (structural?.status === 'True')
    return {
      rule: 'definition-schema',
      sentence: `its schema is not structural: ${becauseOf(structural)}`,
      since,
      ends: 'A structural schema.',
    };
  if (approved?.status === 'False')
    return {rule: 'definition-approval', sentence: `its group is protected: ${becauseOf(approved)}`, since, ends: 'Another group.'};
  if (established?.status === 'True') return undefined;
  return {
    rule: 'definition-unestablished',
    sentence: established ? `it is not established: ${becauseOf(established)}` : 'the API server has not looked at it',
    since,
    ends: 'The API server, which establishes it within seconds.',
  };
};

const conversion: Rule<Definition> = async (definition, cluster) => {
  const service = definition.spec?.conversion?.webhook?.clientConfig?.service;
  return service && definition.spec?.conversion?.strategy === 'Webhook'
    ? awayService('its webhook for conversions', service, cluster)
    : undefined;
};

export const definitionSubject = subject<Definition>({
  rules: [unestablished, conversion],
  rest: definition => `it is established since ${conditionOf(definition, 'Established')?.lastTransitionTime}`,
});
