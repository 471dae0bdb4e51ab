import {useMemo} from 'preact/hooks';
import {route} from '#page/base/route.js';
import {useCell} from '#page/base/cell.js';
import {kindOf} from '#page/api/kinds.js';
import {List} from '#page/objects/list.js';
import {Notice} from '#page/ui/parts.js';

/** The certificate signing requests. */
export function Certificates() {
  const at = useCell(route);
  const resource = useMemo(() => kindOf('certificatesigningrequests', 'certificates'), []);
  if (!resource) return <Notice tone="bad">The server has no certificate signing requests.</Notice>;
  return <List resource={resource} at={at} />;
}
