import type {Frozen} from '#src/api/key.js';
import type {Claim, StatefulSet} from './kinds.js';

/** Returns the claim name of a template for an ordinal. */
export const claimName = (set: StatefulSet, template: Frozen<Claim>, ordinal: number): string =>
  `${template.metadata?.name}-${set.metadata?.name}-${ordinal}`;

/** Returns the claims to create for an ordinal. */
export const claimsAt = (set: StatefulSet, ordinal: number): Claim[] =>
  (set.spec?.volumeClaimTemplates ?? []).map(template => {
    const {metadata = {}, spec} = template as Claim;
    return {
      metadata: {
        ...metadata,
        name: claimName(set, template, ordinal),
        namespace: set.metadata?.namespace ?? '',
        labels: {...metadata.labels, ...set.spec?.selector?.matchLabels},
      },
      ...(spec ? {spec} : {}),
    };
  });
