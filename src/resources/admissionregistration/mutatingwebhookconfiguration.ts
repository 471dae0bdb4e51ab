import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {defaultWebhook, hasEmptiedWebhooks, readyForWebhooks, validateWebhooks} from './webhooks.js';

type Configuration = ObjectOf<typeof kinds.mutatingWebhookConfigurations>;

/** MutatingWebhookConfiguration: webhooks that may change or reject a write. */
export const mutatingWebhookConfigurations = defineResource<Configuration>({
  kind: kinds.mutatingWebhookConfigurations,
  discovery: {categories: ['api-extensions']},
  metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: true, generationCountsEmptied: hasEmptiedWebhooks},
  update: {unconditional: false},
  ready: readyForWebhooks,
  default({webhooks}) {
    for (const hook of webhooks ?? []) {
      defaultWebhook(hook);
      hook.reinvocationPolicy ??= 'Never';
    }
  },
  main: {
    metadata: 'whole',
    writes: {create: ['metadata', 'webhooks'], update: ['metadata', 'webhooks']},
    validate: ({webhooks}, old) => validateWebhooks(webhooks, old && (old.webhooks ?? []), true),
  },
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Webhooks',
        type: 'integer',
        description: 'Webhooks indicates the number of webhooks configured in this object.',
        of: ({webhooks}) => webhooks?.length ?? 0,
      },
      ageColumn,
    ],
  },
});
