import {sameContent} from '#src/api/equal.js';
import {isNodesOwnLabel} from '#src/api/node/labels.js';
import type {Node} from '#src/api/types.js';
import {quote, type NodeRule} from './node-rule.js';

const changedLabels = (labels: Readonly<Record<string, string>> = {}, old: Readonly<Record<string, string>> = {}): string[] =>
  [...new Set([...Object.keys(labels), ...Object.keys(old)])].filter(key => labels[key] !== old[key]).sort();

/** A node may only change its own Node object, and not the fields that attract pods. */
export const nodeRule: NodeRule = ({naming}, node, {operation, name, object, oldObject}) => {
  const nodeText = `node ${quote(node)}`;
  if (name !== node) return `${nodeText} is not allowed to modify node ${quote(name)}`;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined;
  const [now, old] = [object as Node, oldObject as Node | undefined];
  const labels = changedLabels(now.metadata?.labels, old?.metadata?.labels).filter(label => !isNodesOwnLabel(label, naming));
  const {configSource} = now.spec ?? {};
  if (!old) {
    if (configSource) return `${nodeText} is not allowed to create pods with a non-nil configSource`;
    return labels.length > 0 ? `${nodeText} is not allowed to set the following labels: ${labels.join(', ')}` : undefined;
  }
  if (configSource && !sameContent(configSource, old.spec?.configSource))
    return `${nodeText} is not allowed to update configSource to a new non-nil configSource`;
  if (!sameContent(now.spec?.taints, old.spec?.taints)) return `${nodeText} is not allowed to modify taints`;
  if (!sameContent(now.metadata?.ownerReferences, old.metadata?.ownerReferences))
    return `${nodeText} is not allowed to modify ownerReferences`;
  return labels.length > 0 ? `is not allowed to modify labels: ${labels.join(', ')}` : undefined;
};
