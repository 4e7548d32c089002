// Has image loaders and fonts read their variables before environment.js removes them.
import GdkPixbuf from 'gi://GdkPixbuf?version=2.0';
import PangoCairo from 'gi://PangoCairo?version=1.0';

GdkPixbuf.Pixbuf.get_formats();
PangoCairo.FontMap.get_default().list_families();
