import {required, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {list, record, text} from '#src/apiserver/configuration/fields.js';
import type {Read} from './read.js';

/** A resource that may only be used where a quota covers it. */
export interface LimitedResource {
  readonly apiGroup?: string;
  readonly resource: string;
  /** Parts of the names of counted resources; one match is enough. */
  readonly matchContains?: readonly string[];
  readonly matchScopes?: readonly {readonly scopeName: string; readonly operator: string; readonly values?: readonly string[]}[];
}

const fields = {
  limitedResources: list(
    record({
      apiGroup: text,
      resource: text,
      matchContains: list(text),
      matchScopes: list(record({scopeName: text, operator: text, values: list(text)})),
    }),
  ),
};

function* problems(resources: readonly Partial<LimitedResource>[]): Iterable<FieldError> {
  for (const [i, {resource}] of resources.entries()) if (!resource) yield required(`limitedResources[${i}].resource`);
}

/** Reads the resources that may only be used where a quota covers them. */
export const readLimitedResources = (source: string, naming: Naming): Read<readonly LimitedResource[]> => {
  const {limitedResources = []} = readConfiguration<{readonly limitedResources?: readonly LimitedResource[]}>(source, [
    {group: naming.group('apiserver.config'), versions: ['v1'], kind: 'ResourceQuotaConfiguration', fields},
    {group: `resourcequota.admission.${naming.apiSuffix}`, versions: ['v1beta1', 'v1alpha1'], kind: 'Configuration', fields},
  ]);
  return {value: limitedResources, errors: [...problems(limitedResources)]};
};
