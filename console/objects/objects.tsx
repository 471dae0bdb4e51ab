import {useCell} from '#page/base/cell.js';
import type {Route} from '#page/base/route.js';
import {kindOf, resources, type Resource} from '#page/api/kinds.js';
import {Notice} from '#page/ui/parts.js';
import {listHref} from './hrefs.js';
import {List} from './list.js';
import {ObjectPage} from './object.js';

/** All kinds, by their group. */
function Kinds() {
  const all = useCell(resources).filter(({verbs}) => verbs.includes('list'));
  const groups = [...new Set(all.map(({group}) => group))];
  return (
    <div class="kinds">
      <h1>Objects</h1>
      <div class="groups">
        {groups.map(group => (
          <section key={group}>
            <h2>{group || 'core'}</h2>
            <ul>
              {all
                .filter(each => each.group === group)
                .map((each: Resource) => (
                  <li key={each.plural}>
                    <a href={listHref(each)}>{each.plural}</a> <small>{each.shortNames.join(', ')}</small>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </div>
  );
}

/** The kinds, the list of one, or one of its objects. */
export function Objects({at}: {readonly at: Route}) {
  useCell(resources);
  const [group = '', plural, namespace = '', name] = at.parts;
  if (plural === undefined) return <Kinds />;
  const resource = kindOf(plural, group === 'core' ? '' : group);
  if (!resource)
    return (
      <Notice tone="bad">
        The server has no kind {plural}
        {group && group !== 'core' ? ` in ${group}` : ''}.
      </Notice>
    );
  if (name === undefined) return <List key={`${group}/${plural}`} resource={resource} at={at} />;
  return <ObjectPage key={at.parts.join('/')} resource={resource} namespace={namespace === '-' ? '' : namespace} name={name} at={at} />;
}
