// The webhooks of a bundle. OLM makes a Service, a certificate and the configurations for them, and gives the
// Deployment the certificate in a folder.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {
  configuresWebhooks,
  definitionsOf,
  operatorContainer,
  withContainer,
  type Definition,
  type OperatorProject,
  type Workload,
} from '#src/cli/package/project/operator-project.js';

type Hook = NonNullable<ObjectOf<typeof kinds.mutatingWebhookConfigurations>['webhooks']>[number];

/** The folder in which the container finds the certificate, as tls.crt and tls.key. */
const certificateFolder = '/tmp/k8s-webhook-server/serving-certs';

/**
 * Returns the webhooks as a ClusterServiceVersion has them. Throws an error of one line for what that cannot express.
 */
export const webhookDefinitions = (project: OperatorProject): readonly object[] => [
  ...project.objects.filter(configuresWebhooks).flatMap(object => admissionWebhooks(object, project)),
  ...conversionWebhooks(project),
];

const target = ({workload}: OperatorProject) => ({
  deploymentName: workload.metadata.name,
  containerPort: 443,
  targetPort: operatorContainer(workload)?.ports?.find(({name}) => name === 'webhooks')?.containerPort ?? 9443,
});

const admissionWebhooks = (object: NamedObject, project: OperatorProject): readonly object[] => {
  const type = object.kind === kinds.mutatingWebhookConfigurations.kind ? 'MutatingAdmissionWebhook' : 'ValidatingAdmissionWebhook';
  const {webhooks = []} = object as {webhooks?: readonly Hook[]};
  return webhooks.map(hook => {
    const {name, clientConfig, matchConditions, namespaceSelector: _, ...others} = hook;
    if (matchConditions) throw new Error(`the webhook ${name} has matchConditions, which a bundle cannot have: leave olm out of --format`);
    // OLM labels the configuration with it.
    if (name.length > 63) throw new Error(`the name of the webhook ${name} has more than 63 characters, too many for a bundle`);
    return {...others, type, generateName: name, ...target(project), webhookPath: clientConfig.service?.path ?? '/'};
  });
};

const conversionWebhooks = (project: OperatorProject): readonly object[] => {
  const converted = definitionsOf(project.objects).filter(({spec}) => spec.conversion?.webhook);
  return converted.map(({metadata, spec}) => ({
    type: 'ConversionWebhook',
    generateName: `convert.${metadata.name}`.slice(0, 63),
    ...target(project),
    webhookPath: spec.conversion!.webhook!.clientConfig?.service?.path ?? '/',
    conversionCRDs: [metadata.name],
    admissionReviewVersions: spec.conversion!.webhook!.conversionReviewVersions,
    sideEffects: 'None',
  }));
};

/** Returns the Deployment as OLM runs it: its webhooks use the certificate that OLM provides. */
export const bundledWorkload = (project: OperatorProject): Workload => {
  const {workload} = project;
  if (webhookDefinitions(project).length === 0) return workload;
  const container = operatorContainer(workload)!;
  const args = (container.args ?? []).filter(each => !each.startsWith('--webhook-cert-dir'));
  return withContainer(workload, {...container, args: [...args, `--webhook-cert-dir=${certificateFolder}`]});
};

/**
 * Returns a definition as OLM has it before it sets the namespace and the certificate of the conversion: without one,
 * objects of other versions would be pruned meanwhile.
 */
export const bundledDefinition = (definition: Definition, {workload}: OperatorProject): Definition => {
  const {spec} = definition;
  const webhook = spec.conversion?.webhook;
  const service = webhook?.clientConfig?.service;
  if (!service) return definition;
  const clientConfig = {...webhook.clientConfig, service: {...service, name: serviceOf(workload)}};
  return {...definition, spec: {...spec, conversion: {...spec.conversion!, webhook: {...webhook, clientConfig}}}};
};

/** The name of the Service that OLM makes for a Deployment. */
const serviceOf = ({metadata}: Workload): string => `${metadata.name.replaceAll('.', '-')}-service`;
