import {useEffect, useRef, useState} from 'preact/hooks';
import {Cell, useCell} from '#page/base/cell.js';
import {useKeys} from '#page/base/keys.js';
import {call} from '#page/api/call.js';

/** The namespace that views are limited to; empty for all. */
export const namespace = new Cell(sessionStorage.getItem('namespace') ?? '');

namespace.follow(() => sessionStorage.setItem('namespace', namespace.value));

interface Named {
  readonly items: readonly {readonly metadata: {readonly name: string}}[];
}

/** Chooses the namespace; n goes there. */
export function Namespaces() {
  const chosen = useCell(namespace);
  const [names, setNames] = useState<readonly string[]>([]);
  const select = useRef<HTMLSelectElement>(null);
  const read = () =>
    void call<Named>('/api/v1/namespaces?limit=500', {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
    })
      .then(({items}) => setNames(items.map(({metadata: {name}}) => name)))
      .catch(() => {}); // Without the right to list them, the one that is chosen is shown.
  useEffect(read, []);
  useKeys({n: () => select.current?.focus()});
  const listed = chosen && !names.includes(chosen) ? [chosen, ...names] : names;
  return (
    <label class="namespaces">
      <span>Namespace</span>
      <select
        ref={select}
        aria-label="Namespace"
        value={chosen}
        onFocus={read}
        onChange={event => namespace.set(event.currentTarget.value)}
      >
        <option value="">all</option>
        {listed.map(name => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
