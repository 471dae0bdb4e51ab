import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {compareQuantities, parseQuantity} from '#src/api/quantity.js';
import {subject, type Rule} from '#src/why/facts/finding.js';

type Quota = ObjectOf<typeof kinds.resourceQuotas>;

const exhausted: Rule<Quota> = ({status, metadata}) => {
  const full = Object.entries(status?.hard ?? {}).filter(
    ([name, hard]) => compareQuantities(parseQuantity(status?.used?.[name] ?? '0'), parseQuantity(hard)) >= 0,
  );
  if (full.length === 0) return undefined;
  const text = full.map(([name, hard]) => `${status?.used?.[name]} of ${hard} ${name}`).join(', ');
  return {
    rule: 'quota-exhausted',
    sentence: `it is used up: ${text}`,
    ends: `A higher spec.hard, or the end of other objects in the namespace ${metadata?.namespace}.`,
  };
};

const uncounted: Rule<Quota> = ({spec, status, metadata}) =>
  Object.keys(spec?.hard ?? {}).some(name => !Object.hasOwn(status?.hard ?? {}, name))
    ? {
        rule: 'quota-uncounted',
        sentence: 'what it limits is not counted yet, and until then nothing of it can be created',
        since: metadata?.creationTimestamp,
        ends: 'The resourcequota-controller of the controller manager, as soon as it works.',
      }
    : undefined;

export const quotaSubject = subject<Quota>({
  rules: [uncounted, exhausted],
  rest: ({status}) =>
    `of everything that it limits something is left: ${Object.entries(status?.hard ?? {})
      .map(([name, hard]) => `${status?.used?.[name]} of ${hard} ${name} are used`)
      .join(', ')}`,
});
