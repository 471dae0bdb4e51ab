import {groupOfVersion, kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {NamedObject} from './read.js';

/** The local server of the manifests' webhooks, for development. */
export interface LocalWebhooks {
  /** A port of this machine. */
  readonly port: number;
}

/** The same with the CAs of its certificate: PEM in base64. */
export interface LocalServing extends LocalWebhooks {
  readonly caBundle: string;
}

type Hook = NonNullable<ObjectOf<typeof kinds.validatingWebhookConfigurations>['webhooks']>[number];
type ClientConfig = Hook['clientConfig'];
type Definition = ObjectOf<typeof kinds.customResourceDefinitions>;

/** The object with the service of every webhook replaced by the local server, with the same path. */
export const withLocalWebhooks = (object: NamedObject, serving: LocalServing, naming: Naming): NamedObject => {
  const group = groupOfVersion(object.apiVersion);
  if (group === naming.group('admissionregistration') && configurations.has(object.kind)) {
    const {webhooks = []} = object as {webhooks?: Hook[]};
    return {...object, webhooks: webhooks.map(hook => ({...hook, clientConfig: local(hook.clientConfig, serving)}))} as NamedObject;
  }
  const {spec} = object as unknown as Partial<Definition>;
  const webhook = spec?.conversion?.webhook;
  if (group !== naming.group('apiextensions') || object.kind !== kinds.customResourceDefinitions.kind || !webhook?.clientConfig)
    return object;
  return {
    ...object,
    spec: {...spec, conversion: {...spec?.conversion, webhook: {...webhook, clientConfig: local(webhook.clientConfig, serving)}}},
  } as NamedObject;
};

const configurations: ReadonlySet<string> = new Set([kinds.mutatingWebhookConfigurations.kind, kinds.validatingWebhookConfigurations.kind]);

const local = (config: ClientConfig, {port, caBundle}: LocalServing): ClientConfig =>
  config?.service ? {url: `https://127.0.0.1:${port}${config.service.path ?? '/'}`, caBundle} : config;
