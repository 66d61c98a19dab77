// Debian 12's libgloo-dev leaves this header out, which its own gloo/transport/tcp/{context,pair}.h include.
// It declares what those two need to be complete, with the layout that the library was built with; nothing
// here has any behaviour.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr {
 protected:
  std::weak_ptr<T> ptr_;
};

}  // namespace gloo
