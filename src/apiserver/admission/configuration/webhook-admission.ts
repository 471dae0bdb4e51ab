import {isAbsolute} from 'node:path';
import {invalid} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {text} from '#src/apiserver/configuration/fields.js';
import type {Read} from './read.js';

/** The credentials of the server towards webhooks. */
export interface WebhookAdmission {
  /** The kubeconfig file, whose user names are the hosts they are for. */
  readonly kubeConfigFile: string;
}

/** Reads the configuration of one of the two webhook plugins. */
export const readWebhookAdmission = (source: string, naming: Naming): Read<WebhookAdmission> => {
  const group = naming.group('apiserver.config');
  const fields = {kubeConfigFile: text};
  const {kubeConfigFile = ''} = readConfiguration<Partial<WebhookAdmission>>(source, [
    {group, versions: ['v1'], kind: 'WebhookAdmissionConfiguration', fields},
    {group, versions: ['v1alpha1'], kind: 'WebhookAdmission', fields},
  ]);
  return {
    value: {kubeConfigFile},
    errors: isAbsolute(kubeConfigFile) ? [] : [invalid('kubeConfigFile', kubeConfigFile, 'must be an absolute file path')],
  };
};
