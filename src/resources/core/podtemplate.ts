import {kinds} from '#src/api/kinds/index.js';
import type {PodTemplate} from '#src/api/pod.js';
import {nameColumn} from '#src/resources/columns.js';
import {
  defaultPodTemplate,
  dropDisabledTemplateFields,
  podTemplateWarnings,
  validatePodTemplate,
} from '#src/resources/core/pod/template.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {labelsCell} from '#src/resources/workload/columns.js';

/** PodTemplate: a stored template from which other components create pods. */
export const podTemplates = defineResource<PodTemplate>({
  kind: kinds.podTemplates,
  storage: {alwaysPresent: {template: {metadata: {}, spec: {containers: []}}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default({template}) {
    defaultPodTemplate(template);
  },
  main: {
    writes: {create: ['metadata', 'template'], update: ['metadata', 'template']},
    prepare({template}, old, {gate}) {
      dropDisabledTemplateFields(template, old?.template, gate);
    },
    validate: ({template}, old, context) => validatePodTemplate(template, 'template', context, old?.template),
    warn: ({metadata, template}, old, {naming}) =>
      metadata?.generation === old?.metadata?.generation ? [] : podTemplateWarnings(template, 'template', naming),
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Containers',
        description: 'Names of the containers.',
        of: ({template}) => (template?.spec?.containers ?? []).map(({name}) => name).join(','),
      },
      {
        name: 'Images',
        description: 'Images of the containers.',
        of: ({template}) => (template?.spec?.containers ?? []).map(({image = ''}) => image).join(','),
      },
      {
        name: 'Pod Labels',
        description: 'The labels that pods of the template have.',
        of: ({template}) => labelsCell(template?.metadata?.labels),
      },
    ],
  },
});
