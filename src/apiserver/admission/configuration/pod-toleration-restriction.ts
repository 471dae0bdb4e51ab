import type {Naming} from '#src/api/naming.js';
import type {Toleration} from '#src/api/pod.js';
import type {TolerationSettings} from '#src/apiserver/admission/pods/pod-toleration-restriction.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {list, long, record, text} from '#src/apiserver/configuration/fields.js';
import {validateTolerations} from '#src/resources/core/pod/validation/scheduling.js';
import type {Read} from './read.js';

const tolerations = list(record({key: text, operator: text, value: text, effect: text, tolerationSeconds: long}));

/** Reads the default tolerations of namespaces. */
export const readTolerations = (source: string, {apiSuffix}: Naming): Read<TolerationSettings> => {
  const kind = {
    group: `podtolerationrestriction.admission.${apiSuffix}`,
    versions: ['v1alpha1'],
    kind: 'Configuration',
    fields: {default: tolerations, whitelist: tolerations},
  };
  const {default: given = [], whitelist: allowed = []} = readConfiguration<{
    readonly default?: readonly Toleration[];
    readonly whitelist?: readonly Toleration[];
  }>(source, [kind]);
  const path = 'podtolerationrestriction.configuration';
  return {
    value: {given, allowed},
    errors: [...validateTolerations(given, `${path}.default`), ...validateTolerations(allowed, `${path}.whitelist`)],
  };
};
