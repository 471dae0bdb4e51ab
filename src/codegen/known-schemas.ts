import type {JsonSchema} from '#src/schema/json-schema.js';

/** The alternatives of `x-kubernetes-int-or-string`. The server knows them; other tools read them. */
export const intOrStringAlternatives: readonly JsonSchema[] = [{type: 'integer'}, {type: 'string'}];

/** The schema of a quantity such as `500m` or `1Gi`. */
export const quantitySchema: JsonSchema = {
  'x-kubernetes-int-or-string': true,
  anyOf: intOrStringAlternatives,
  pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
};

const text = (description: string, limits: JsonSchema = {}): JsonSchema => ({type: 'string', description, ...limits});

/** The schema of a condition, with the limits of the API's own type. */
export const conditionSchema: JsonSchema = {
  type: 'object',
  required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
  properties: {
    type: text('The aspect of the object.', {
      maxLength: 316,
      pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    }),
    status: text('Whether the condition holds.', {enum: ['True', 'False', 'Unknown']}),
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      description: 'The generation of the object that the condition is about.',
    },
    lastTransitionTime: text('When the status changed last.', {format: 'date-time'}),
    reason: text('The cause of the last transition, in one word.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: text('The details of the transition, for people.', {maxLength: 32768}),
  },
};
