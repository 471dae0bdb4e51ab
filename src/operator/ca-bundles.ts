// Keeps the CA bundle of webhooks up to date in webhook configurations and in the definitions of kinds with conversion.

import {groupResource, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {defineController, type OperatorController} from './controller.js';
import {fromEvents, type SubscribableEvents} from './events.js';
import {selection} from './sources.js';
import type {Webhook} from './webhooks/admission.js';
import type {FollowedCertificate} from './webhooks/certificates.js';

interface ClientConfig {
  caBundle?: string;
  readonly service?: unknown;
  readonly url?: string;
}

/** The part of a configuration or definition that is read and written. */
interface WithClientConfigs extends KubeObject {
  webhooks?: {clientConfig: ClientConfig}[];
  spec?: {conversion?: {webhook?: {clientConfig?: ClientConfig}}};
}

export interface CaBundleParts {
  readonly certificate: FollowedCertificate;
  readonly naming: Naming;
  readonly handlers: readonly Webhook[];
  /** The names of the configurations. */
  readonly configurations: readonly string[];
}

/**
 * Returns the controllers that keep `caBundle` up to date, one for each configuration and definition: each caches only
 * its object, so that a role can be restricted to resource names.
 */
export const caBundleControllers = ({certificate, naming, handlers, configurations}: CaBundleParts): OperatorController[] => {
  const definitions = new Set(handlers.filter(({type}) => type === 'converting').map(({kind}) => groupResource(naming, kind)));
  return [
    ...configurations.flatMap(name => [
      keeper('mutating', kinds.mutatingWebhookConfigurations as Kind, name, certificate),
      keeper('validating', kinds.validatingWebhookConfigurations as Kind, name, certificate),
    ]),
    ...[...definitions].map(name => keeper('conversion', kinds.customResourceDefinitions as Kind, name, certificate)),
  ];
};

const keeper = (what: string, kind: Kind, name: string, certificate: FollowedCertificate): OperatorController =>
  defineController<WithClientConfigs>({
    name: `webhook-ca.${what}.${name}`,
    for: selection(kind as Kind<WithClientConfigs>, {fieldSelector: `metadata.name=${name}`}),
    sources: [fromEvents(changesOf(certificate), {name: 'certificate', keys: () => [{namespace: '', name}]})],
    async reconcile({object, client}) {
      const {authorities} = certificate.current();
      if (!object || authorities === undefined) return;
      const caBundle = Buffer.from(authorities).toString('base64');
      await client.patch<WithClientConfigs>(object, copy => {
        for (const config of configsOf(copy)) config.caBundle = caBundle;
      });
    },
  });

const configsOf = ({webhooks = [], spec}: WithClientConfigs): ClientConfig[] => {
  const conversion = spec?.conversion?.webhook?.clientConfig;
  return [...webhooks.map(({clientConfig}) => clientConfig), ...(conversion ? [conversion] : [])];
};

/** The changes of a certificate, starting with the current one. */
const changesOf = (certificate: FollowedCertificate): SubscribableEvents<void> => ({
  subscribe({next}) {
    const stop = certificate.onChange(() => next());
    next();
    return {unsubscribe: () => stop[Symbol.dispose]()};
  },
});
