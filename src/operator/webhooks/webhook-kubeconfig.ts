import {accessPaths, isAccessWebhook} from './access-reviews.js';
import type {Webhook} from './admission.js';

/** How an API server reaches a webhook. */
export interface WebhookKubeconfigOptions {
  /** The address of the webhooks' server, without a path. An API server usually cannot resolve names of Services. */
  readonly url: string;
  /** The CAs of the webhooks' certificate in PEM: `ca.crt` of its Secret or folder. Default: those of the system. */
  readonly certificateAuthority?: string;
}

/**
 * Returns the kubeconfig by which an API server is configured to call a webhook, for
 * `--authentication-token-webhook-config-file` or `--authorization-webhook-config-file`. Throws a `TypeError` for
 * another webhook.
 */
export const webhookKubeconfig = (webhook: Webhook, {url, certificateAuthority}: WebhookKubeconfigOptions): string => {
  if (!isAccessWebhook(webhook)) throw new TypeError(`a ${webhook.type} webhook is configured by objects: webhookConfigurations`);
  const server = `${url.replace(/\/$/, '')}${accessPaths[webhook.type]}`;
  const ca = certificateAuthority === undefined ? '' : Buffer.from(certificateAuthority).toString('base64');
  return `apiVersion: v1
kind: Config
clusters:
- name: webhook
  cluster:
    server: ${JSON.stringify(server)}
${ca ? `    certificate-authority-data: ${ca}\n` : ''}users:
- name: apiserver
  user: {}
contexts:
- name: webhook
  context:
    cluster: webhook
    user: apiserver
current-context: webhook
`;
};
